// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/inbox.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/code.h"
#include "lib/zk/wire/jute_reader.h"

namespace zkrecipes::zk::wire {
namespace {

constexpr size_t kUsualCapacity = 16 << 10;
constexpr size_t kErrorAt = 12;  // in it
// At a time: the loop has timers, and other connections.
constexpr size_t kMostSkipped = 1 << 20;

}  // namespace

ssize_t Inbox::Recv(int fd, char* bytes, size_t size) {
  const size_t to_skip = to_skip_;
  pauses_ = false;
  while (accepted_ == 0 && !FindFrame()) {
    if (refused_) {
      errno = EPROTO;
      return -1;
    }
    if (session_ended()) return 0;  // the server closes the connection next
    if (to_skip > to_skip_ + kMostSkipped) {
      pauses_ = true;
      errno = EAGAIN;
      return -1;
    }
    // No whole frame: the C client must not get a part of one, since it would then wait for the
    // rest in its own buffer, unchecked.
    const ssize_t got = Fill(fd);
    if (got <= 0) return got;
  }
  const size_t taken = std::min(size, accepted_);
  memcpy(bytes, buffer_.data() + begin_, taken);
  begin_ += taken;
  accepted_ -= taken;
  return static_cast<ssize_t>(taken);
}

bool Inbox::MayHaveMore() {
  return accepted_ > 0 || FindFrame() || refused_ || session_ended() ||
         !std::exchange(drained_, false);
}

// True if there is a whole frame, and it is an answer.
bool Inbox::FindFrame() {
  const size_t skipped = std::min(to_skip_, said().size());
  begin_ += skipped;
  to_skip_ -= skipped;
  if (refused_ || session_ended() || said().size() < kLength) return false;
  std::string wrong = conversation_.WrongStart(said());
  if (!wrong.empty()) return Refuse(wrong);
  if (Conversation::IsTooLong(said())) return CutShort();
  const size_t size = kLength + static_cast<size_t>(JuteReader(said()).Int());
  // The length has been judged, so that a wrong one does not make us wait for ever.
  if (said().size() < size) return false;
  // Once for each frame: accepted_ keeps this from being asked again while the C client reads it.
  wrong = conversation_.Hear(said().substr(kLength, size - kLength));
  if (!wrong.empty()) return Refuse(wrong);
  // The C client has not asked for it.
  if (session_ended()) return false;
  accepted_ = size;
  return true;
}

// In place of a reply that is too long the C client gets an error. The request fails, and the
// connection, with all else that was asked on it, goes on.
bool Inbox::CutShort() {
  if (said().size() < kLength + kReplyHeader) return false;
  const std::string wrong = conversation_.HearTooLong(said().substr(kLength, kReplyHeader));
  if (!wrong.empty()) return Refuse(wrong);
  to_skip_ = static_cast<size_t>(JuteReader(said()).Int()) - kReplyHeader;
  const std::string length = BigEndian(kReplyHeader);
  const std::string error = BigEndian(static_cast<uint32_t>(Code::kReplyTooLong));
  char* const frame = buffer_.data() + begin_;
  std::copy(length.begin(), length.end(), frame);
  std::copy(error.begin(), error.end(), frame + kLength + kErrorAt);
  accepted_ = kLength + kReplyHeader;
  return true;
}

bool Inbox::Refuse(const std::string& why) {
  refused_ = true;
  // A server that will not have this client is understood, and says so itself.
  const bool understood = conversation_.with_keeper() || conversation_.turned_away().has_value() ||
                          !absl::StartsWith(why, "it");
  refusal_ = understood ? why : absl::StrCat("does not speak ZooKeeper: ", why);
  refusal_cause_ = why == kSpeaksTls ? NoConnection::kTls
                   : understood      ? NoConnection::kRejected
                                     : NoConnection::kNotZooKeeper;
  return false;
}

// As recv(): how much the socket held. What a forked child took would be missing in its parent.
ssize_t Inbox::Fill(int fd) {
  // Whatever has come since then, poll will report.
  if (!home_.IsThisProcess() || std::exchange(drained_, false)) {
    errno = EAGAIN;
    return -1;
  }
  MakeRoom();
  const size_t room = buffer_.size() - end_;
  char* const at = buffer_.data() + end_;
  const ssize_t got =
      tls_ == nullptr ? ReceiveFromSocket(fd, at, room) : tls_->Receive(fd, at, room);
  if (got > 0) {
    end_ += static_cast<size_t>(got);
    grew_ = true;
    // A short read: the next recv() would only say EAGAIN, so it is spared.
    drained_ = static_cast<size_t>(got) < room;
  }
  return got;
}

// Grows by what has come, not by what a length announces: a server that announces 64 MB costs no
// memory. Shrinks once a large reply is taken.
void Inbox::MakeRoom() {
  const size_t kept = said().size();
  if (begin_ > 0) {
    std::copy(buffer_.begin() + begin_, buffer_.begin() + end_, buffer_.begin());
  }
  begin_ = 0;
  end_ = kept;
  if (kept == buffer_.size()) {
    buffer_.resize(std::max(2 * kept, kUsualCapacity));
  } else if (kept < kUsualCapacity && buffer_.size() > kUsualCapacity) {
    buffer_.resize(kUsualCapacity);
    buffer_.shrink_to_fit();
  }
}

void Inbox::Drop() {
  // The old connection's questions will never be answered on the new one.
  conversation_ = Conversation();
  if (question_) conversation_.Question();
  refusal_.clear();
  refused_ = false;
  begin_ = end_ = accepted_ = to_skip_ = 0;
  drained_ = false;
}

}  // namespace zkrecipes::zk::wire
