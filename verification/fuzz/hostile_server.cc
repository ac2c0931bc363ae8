// SPDX-License-Identifier: Apache-2.0

#include <climits>
#include <utility>

#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"
#include "verification/fuzz/runs.h"

namespace zkrecipes::fuzz {
namespace {

namespace wire = zk::wire;

}  // namespace

std::string Dice::Noise(size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(Roll(256));
  return bytes;
}

std::string Dice::Text(size_t size) {
  std::string text(size, '\0');
  for (char& letter : text) letter = static_cast<char>('a' + Roll(26));
  return text;
}

void HostileServer::Begin() {
  welcomed_ = false;
  held_.clear();
}

std::string HostileServer::Hear(std::string& from_client) {
  std::string said;
  size_t heard = 0;
  while (from_client.size() - heard >= 4) {
    const size_t size =
        static_cast<size_t>(zk::wire::JuteReader(from_client.substr(heard, 4)).Int());
    if (from_client.size() - heard - 4 < size) break;
    std::string frame = wire::Frame(Answer(absl::string_view(from_client).substr(heard + 4, size)));
    heard += 4 + size;
    if (spoils_ > 0 && dice_->OneIn(spoils_)) frame = Spoil(std::move(frame));
    said += frame;
    said += std::exchange(held_, dice_->OneIn(2) ? held_ : "");
  }
  from_client.erase(0, heard);
  return said;
}

std::string HostileServer::StrayEvent() {
  std::string frame = wire::Frame(wire::Event(1 + static_cast<int32_t>(dice_->Roll(4)), Path()));
  return spoils_ > 0 && dice_->OneIn(4) ? Spoil(std::move(frame)) : frame;
}

std::string HostileServer::Answer(absl::string_view request) {
  zk::wire::JuteReader reader(request);
  if (!std::exchange(welcomed_, true)) {
    reader.Bytes(16);
    const int64_t asked = reader.Long();
    if (asked != 0 && dice_->OneIn(4)) return wire::Welcome(0, 0);  // expired
    session_ = asked != 0 ? asked : 1 + static_cast<int64_t>(dice_->Bits() >> 2);
    const std::string welcome =
        wire::Welcome(session_, 4000 + static_cast<int32_t>(dice_->Roll(9)));
    return dice_->OneIn(4) ? welcome.substr(0, 36) : welcome;
  }
  const int32_t xid = reader.Int();
  const int32_t type = reader.Int();
  if (type == wire::kMulti) {
    reader.Bytes(9);  // the header of its first operation
    created_ = std::string(reader.String()) + "/c";
    return AnswerTo(xid, type, "");
  }
  return AnswerTo(xid, type, std::string(reader.String()));
}

std::string HostileServer::AnswerTo(int32_t xid, int32_t type, const std::string& path) {
  if (xid < 0) return wire::Reply(xid);
  if (dice_->OneIn(6)) return wire::Reply(xid, "", dice_->OneIn(2) ? -101 : -110);
  switch (type) {
    case wire::kCreate2:
    case wire::kCreateContainer:
      return wire::Reply(xid,
                         wire::String(path + (dice_->OneIn(2) ? "0000000001" : "")) + wire::Stat());
    case wire::kExists:
    case wire::kSetData:
      return wire::Reply(xid, wire::Stat());
    case wire::kGetData: {
      const std::string data = wire::String(dice_->Noise(dice_->Roll(40)));
      return wire::Reply(xid, (dice_->OneIn(3) ? wire::Int(-1) : data) + wire::Stat());
    }
    case wire::kGetChildren: {
      const uint32_t most = dice_->OneIn(20) ? 1000 : 8;
      std::vector<std::string> names(dice_->Roll(most));
      for (std::string& name : names) name = dice_->Text(dice_->Roll(40));
      return wire::Reply(xid, wire::Names(names));
    }
    case wire::kGetAcl:
      return wire::Reply(xid,
                         wire::Acl({{31, "world", "anyone"}, {1, "digest", "a:x"}}) + wire::Stat());
    case wire::kMulti:
      return wire::Reply(xid, AnswerToMulti());
    default:
      return wire::Reply(xid);
  }
}

// To a set, a create and a delete; the path is that of the whole multi's first.
std::string HostileServer::AnswerToMulti() {
  const std::string end = wire::MultiHeader(-1, true);
  const std::string error = wire::MultiHeader(-1);
  if (dice_->OneIn(2)) {
    return error + wire::Int(0) + error + wire::Int(-110) + error + wire::Int(-2) + end;
  }
  return wire::MultiHeader(5) + wire::Stat() + wire::MultiHeader(1) + wire::String(created_) +
         wire::MultiHeader(2) + end;
}

// One of a few, so that some are watched.
std::string HostileServer::Path() { return "/" + std::string(1 + dice_->Roll(3), 'p'); }

void HostileServer::SpoilNumber(std::string& frame) {
  const auto size = static_cast<int32_t>(frame.size());
  const int32_t numbers[] = {-1,       -2,      0,        1,        INT_MIN, INT_MAX,
                             -8,       -4,      size - 3, size - 5, size,    1 << 20,
                             64 << 20, 1 << 30, -112,     -115,     -4,      0x00ffffff};
  const int32_t number = numbers[dice_->Roll(std::size(numbers))];
  const size_t at = dice_->OneIn(2) ? 4 * dice_->Roll(static_cast<uint32_t>(size / 4))
                                    : dice_->Roll(static_cast<uint32_t>(size - 3));
  frame.replace(at, 4, wire::Int(number));
}

std::string HostileServer::Spoil(std::string frame) {
  std::string body = frame.substr(4);
  switch (dice_->Roll(14)) {
    case 0:  // a bit
      frame[dice_->Roll(static_cast<uint32_t>(frame.size()))] ^=
          static_cast<char>(1 << dice_->Roll(8));
      return frame;
    case 1:
    case 2:
    case 3:
      SpoilNumber(frame);
      return frame;
    case 4:  // cut short, and said so
      return wire::Frame(body.substr(0, dice_->Roll(static_cast<uint32_t>(body.size()))));
    case 5:  // cut short
      return frame.substr(0, dice_->Roll(static_cast<uint32_t>(frame.size())));
    case 6:
      return wire::Frame(body + dice_->Noise(1 + dice_->Roll(30)));
    case 7:
      return frame + frame;
    case 8:
      held_ += frame;
      return "";
    case 9: {  // never asked for
      const int32_t xids[] = {-1, -2, -4, -8, 1, 77, -11};
      return frame +
             wire::Frame(wire::Reply(xids[dice_->Roll(std::size(xids))],
                                     dice_->Noise(dice_->Roll(3) * 4), dice_->OneIn(2) ? -115 : 0));
    }
    case 10:
      return dice_->Noise(1 + dice_->Roll(100));
    case 11: {  // an error that may make no sense
      const int32_t errors[] = {-4, -7, -9, -112, -115, -116, -118, 1, INT_MIN};
      return wire::Frame(
          body.size() < 16
              ? body
              : body.replace(12, 4, wire::Int(errors[dice_->Roll(std::size(errors))])));
    }
    case 12: {  // another request's answer
      const int32_t types[] = {2, 3, 4, 6, 8, 14, 15};
      const int32_t xid = zk::wire::JuteReader(body).Int();
      return wire::Frame(AnswerTo(xid, types[dice_->Roll(std::size(types))], Path()));
    }
    default:
      return "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
  }
}

}  // namespace zkrecipes::fuzz
