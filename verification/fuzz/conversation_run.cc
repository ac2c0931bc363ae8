// SPDX-License-Identifier: Apache-2.0

#include <poll.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/c_client/handle_driver_fixture.h"
#include "verification/fuzz/runs.h"

namespace zkrecipes::fuzz {
namespace {

constexpr int kRounds = 60;
constexpr int kConnections = 4;

class ConversationRun : private zk::HandleListener {
 public:
  ConversationRun(uint64_t seed, Tally& tally)
      : tally_(tally), dice_(seed), honest_(dice_.OneIn(8)), server_(&dice_, Spoils()) {}

  void Go() {
    TheSocket() = MemorySocket();
    if (dice_.OneIn(2)) TheSocket().piece = 1 + dice_.Roll(60);
    if (!Open()) return Violate("no handle");
    for (int i = 0; i < kRounds && !ended_ && TheSocket().opened <= kConnections; ++i) {
      driver_.Round();
      if (connected_ && dice_.OneIn(2)) Ask();
    }
    handle_->Close();
    driver_.RunPosted();
    handle_.reset();
    ++tally_.runs;
    tally_.connections += TheSocket().opened;
    if (pending_ != 0) Violate(absl::StrCat(pending_, " requests were not answered"));
    const bool at_once = TheSocket().piece > 60;
    if (honest_ && at_once && good_ == 0 && asked_ > 20) Violate("a good server gets nowhere");
  }

 private:
  uint32_t Spoils() { return honest_ ? 0 : 1 + dice_.Roll(12); }
  void Violate(const std::string& what) {
    if (tally_.violation.empty()) tally_.violation = what;
  }

  bool Open() {
    zk::HandleOptions options;
    options.servers = zk::NumericServers{"127.0.0.1:2181"};
    if (dice_.OneIn(3)) options.digest_credentials = {base::Secret("user:password")};
    auto handle = driver_.Open(options, this);
    if (!handle.ok()) return false;
    handle_ = *std::move(handle);
    return true;
  }

  // The server's turn, and what poll would say.
  short Poll(short events) {
    MemorySocket& it = TheSocket();
    if (std::exchange(served_, it.opened) != it.opened) server_.Begin();
    const size_t said = it.to_client.size();
    if (!it.ended) it.to_client += server_.Hear(it.from_client);
    if (!it.ended && connected_ && dice_.OneIn(16)) it.to_client += server_.StrayEvent();
    if (!honest_ && dice_.OneIn(64)) it.ended = true;
    tally_.bytes += static_cast<int64_t>(it.to_client.size() - said);
    const auto ready = static_cast<short>((events & POLLOUT) | (it.readable() ? POLLIN : 0));
    // Another reading must follow each time.
    const auto now = std::pair(it.opened, it.taken);
    if ((ready & POLLIN) == 0 || std::exchange(before_, now) != now) idle_ = 0;
    if (++idle_ > 3) Violate("it spins: its socket is readable, and it does not read");
    return ready;
  }

  void Ask() {
    ++asked_;
    ++pending_;
    const auto answered = std::make_shared<bool>(false);
    handle_->Send(Request(), [this, answered](const zk::Reply& reply) {
      if (std::exchange(*answered, true)) Violate("a request was answered twice");
      --pending_;
      if (reply.code == zk::Code::kOk) ++good_, ++tally_.good;
      for (const absl::string_view name : reply.children) {
        if (name.size() > 4000) Violate("a name that nobody has said");
      }
    });
  }

  zk::Request Request() {
    const std::string path = "/" + std::string(1 + dice_.Roll(3), 'p');
    switch (dice_.Roll(11)) {
      case 9:
        return zk::Multi{
            {zk::SetData{path, "data", 1}, zk::Create{path + "/c", "data"}, zk::Delete{path}}};
      case 0:
        return zk::Create{path, "data", zk::CreateMode::kEphemeralSequential};
      case 1:
        return zk::Create{path, "", zk::CreateMode::kContainer};
      case 2:
        return zk::Delete{path};
      case 3:
        return zk::SetData{path, "data", 1};
      case 4:
        return zk::Get{path};
      case 5:
        return zk::GetChildren{path};
      case 6:
        return zk::WatchNode{path};
      case 7:
        return zk::WatchExists{path};
      case 8:
        return zk::GetAcl{path};
      default:
        return zk::RemoveWatches{path,
                                 dice_.OneIn(2) ? zk::WatchKind::kNode : zk::WatchKind::kExists};
    }
  }

  void OnConnected(zk::SessionId session, absl::Duration negotiated, base::BootTime) override {
    connected_ = true;
    if (session == 0 || negotiated <= absl::ZeroDuration()) Violate("it believes in no session");
  }
  void OnDisconnected(int) override { connected_ = false; }
  void OnServerFailed(const std::string&, const zk::ServerFailure& failure) override {
    if (failure.cause != NoConnection::kNotZooKeeper) return;
    ++tally_.refusals;
    if (honest_) Violate(absl::StrCat("a good server is refused: ", failure.what));
  }
  void OnEnded(zk::Code why) override {
    connected_ = false;
    ended_ = true;
    if (honest_ && why != zk::Code::kSessionExpired) Violate("a good server ends the client");
  }
  void OnWatch(const std::string& path, zk::WatchEvent) override {
    if (path.empty() || path.size() > 3 + 1) Violate("an event of what was never watched");
  }

  Tally& tally_;
  Dice dice_;
  const bool honest_;
  HostileServer server_;
  zk::c_client::HandleDriver driver_{[this](int, short events) { return Poll(events); }};
  std::unique_ptr<zk::Handle> handle_;
  bool connected_ = false;
  bool ended_ = false;
  int served_ = 0;
  std::pair<int, size_t> before_;
  int idle_ = 0;
  int asked_ = 0;
  int pending_ = 0;
  int good_ = 0;
};

}  // namespace

void RunOne(uint64_t seed, Tally& tally) { ConversationRun(seed, tally).Go(); }

}  // namespace zkrecipes::fuzz
