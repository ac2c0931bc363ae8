// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_MODEL_CLIENT_FIXTURE_H_
#define ZKRECIPES_TESTING_MEMORY_MODEL_CLIENT_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "testing/memory/model_ensemble.h"

namespace zkrecipes::testing::memory {

// For tests: one client's end of the wires to a ModelEnsemble, used by hand. Time stands still at
// one second unless a test moves it.
class ModelClient {
 public:
  explicit ModelClient(ModelEnsemble* model) : model_(model) {}

  // Connects and goes on until the server has answered; false: refused. Keeps its session.
  bool Connect(int server, const std::vector<std::string>& digests = {},
               std::vector<zk::AclEntry> acl = {}) {
    Open(server, digests, std::move(acl));
    Settle();
    return Greeted();
  }
  void Open(int server, const std::vector<std::string>& digests = {},
            std::vector<zk::AclEntry> acl = {}) {
    id_ = model_->Connect(server,
                          wire::Hello{session_, absl::Seconds(10), seen_, digests, std::move(acl)});
  }
  // Takes the first answer. After that what comes is in Events() and Answers().
  bool Greeted() {
    const auto message = model_->Receive(id_);
    if (!message.has_value()) return false;
    const auto* welcome = std::get_if<wire::Welcome>(&*message);
    if (welcome != nullptr) session_ = welcome->session;
    return welcome != nullptr;
  }

  uint64_t Send(const zk::Request& request) {
    model_->Send(id_, wire::Call{++calls_, request});
    return calls_;
  }
  // Sends one request and goes on until it is answered.
  zk::Reply Call(const zk::Request& request) {
    Send(request);
    Settle();
    Read();
    EXPECT_FALSE(answers_.empty()) << "no answer";
    return answers_.empty() ? zk::Reply() : answers_.back();
  }
  void Execute() { model_->Execute(id_, now); }
  // Sends one request, and its server reads it.
  void Ask(const zk::Request& request) {
    Send(request);
    Execute();
  }
  // Its server's answer, without anything else going on.
  std::vector<std::string> Children(const std::string& path) {
    Ask(zk::GetChildren{path});
    const zk::Names children = Answers().back().children;
    return {children.begin(), children.end()};
  }
  zk::Reply Create(const std::string& path, zk::CreateMode mode = zk::CreateMode::kPersistent) {
    return Call(zk::Create{path, "data", mode});
  }
  zk::Reply Sequential(const std::string& path) {
    return Create(path, zk::CreateMode::kEphemeralSequential);
  }
  zk::Code Delete(const std::string& path) { return Call(zk::Delete{path}).code; }
  zk::Code Watch(const std::string& path) { return Call(zk::WatchNode{path}).code; }
  // Everything of this connection, and all other servers' shares.
  void Settle() {
    if (id_ == 0) return;
    model_->Finish(id_, now);
    model_->Spread();
  }
  // Takes all messages that have come, in order.
  void Read() {
    while (auto message = model_->Receive(id_)) {
      if (const auto* fired = std::get_if<wire::Fired>(&*message)) {
        static constexpr const char* kTexts[] = {" deleted", " changed", " data"};
        events_.push_back(fired->path + kTexts[static_cast<int>(fired->what)]);
        log_.push_back(events_.back());
      } else if (const auto* answer = std::get_if<wire::Answer>(&*message)) {
        seen_ = answer->zxid;
        answers_.push_back(answer->reply);
        log_.push_back("answer");
      }
    }
  }
  std::vector<std::string> Events() {
    Read();
    return std::exchange(events_, {});
  }
  std::vector<zk::Reply> Answers() {
    Read();
    return std::exchange(answers_, {});
  }
  std::vector<std::string> Log() {
    Read();
    return std::exchange(log_, {});
  }

  ConnectionId id() const { return id_; }
  zk::SessionId session() const { return session_; }
  int64_t seen() const { return seen_; }

  base::BootTime now = base::BootTime::SinceBoot(absl::Seconds(1));

 private:
  ModelEnsemble* const model_;
  ConnectionId id_ = 0;
  zk::SessionId session_ = 0;
  int64_t seen_ = 0;
  uint64_t calls_ = 0;
  std::vector<zk::Reply> answers_;
  std::vector<std::string> events_;
  std::vector<std::string> log_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_MODEL_CLIENT_FIXTURE_H_
