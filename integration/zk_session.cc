// SPDX-License-Identifier: Apache-2.0

#include "integration/zk_session.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace zkrecipes::integration {
namespace {

// Odd in number, as a handle takes them.
zk::NumericServers InThisOrder(const std::string& servers) {
  zk::NumericServers list = absl::StrSplit(servers, ',');
  if (list.size() % 2 == 0) list.push_back(list.front());
  return list;
}

}  // namespace

void Journal::Add(std::string line) {
  base::MutexLock lock(mutex_);
  lines_.push_back(std::move(line));
  added_.NotifyAll();
}

std::vector<std::string> Journal::lines() const {
  base::MutexLock lock(mutex_);
  return lines_;
}

int Journal::Count(const std::string& line) const {
  base::MutexLock lock(mutex_);
  return static_cast<int>(std::count(lines_.begin(), lines_.end(), line));
}

bool Journal::WaitFor(const std::string& line, int times, absl::Duration at_most) const {
  const base::BootTime until = base::BootNow() + at_most;
  base::MutexLock lock(mutex_);
  while (std::count(lines_.begin(), lines_.end(), line) < times) {
    const absl::Duration left = until - base::BootNow();
    if (left <= absl::ZeroDuration()) return false;
    added_.WaitFor(mutex_, absl::ToChronoNanoseconds(left));
  }
  return true;
}

void Journal::Clear() {
  base::MutexLock lock(mutex_);
  lines_.clear();
}

class ZkSession::Listener : public zk::HandleListener {
 public:
  explicit Listener(Journal* journal) : journal_(journal) {}

  void OnConnected(zk::SessionId session, absl::Duration negotiated,
                   base::BootTime began) override {
    id = session;
    began_ns = absl::ToInt64Nanoseconds(began.since_boot());
    negotiated_ms = absl::ToInt64Milliseconds(negotiated);
    journal_->Add("connected");
  }
  void OnDisconnected(int attempt) override {
    journal_->Add(absl::StrCat("disconnected ", attempt));
  }
  void OnEnded(zk::Code why) override { journal_->Add(absl::StrCat("ended ", CodeName(why))); }
  void OnWatch(const std::string& path, zk::WatchEvent event) override {
    journal_->Add(absl::StrCat(EventText(event), " ", path));
  }

  std::atomic<zk::SessionId> id{0};
  std::atomic<int64_t> negotiated_ms{0};
  std::atomic<int64_t> began_ns{0};

 private:
  Journal* const journal_;
};

const char* EventText(zk::WatchEvent event) {
  switch (event) {
    case zk::WatchEvent::kDeleted:
      return "deleted";
    case zk::WatchEvent::kChanged:
      return "changed";
    case zk::WatchEvent::kNodeData:
      return "data";
  }
  return "";
}

void SendAndNote(zk::Handle& handle, const zk::Request& request, Journal& journal,
                 const std::string& name) {
  handle.Send(request, [&journal, name](const zk::Reply& reply) {
    journal.Add(absl::StrCat(name, " ", CodeName(reply.code)));
  });
}

ZkSession::ZkSession(std::shared_ptr<zk::Loop> loop, const Options& options)
    : loop_(std::move(loop)), listener_(std::make_unique<Listener>(&journal_)) {
  zk::HandleOptions handle_options;
  handle_options.servers = InThisOrder(options.servers);
  handle_options.session_timeout = options.timeout;
  handle_options.digest_credentials = options.credentials;
  handle_options.acl = options.acl;
  RunAndWait([&] {
    absl::StatusOr<std::unique_ptr<zk::Handle>> handle =
        loop_->Open(handle_options, listener_.get());
    if (!handle.ok()) {
      fprintf(stderr, "%s\n", handle.status().ToString().c_str());
      abort();
    }
    handle_ = *std::move(handle);
  });
}

ZkSession::~ZkSession() { Close(/*patient=*/false); }

zk::Reply ZkSession::Do(zk::Request request) { return Send(std::move(request)).get(); }

std::future<zk::Reply> ZkSession::Send(zk::Request request) {
  auto promise = std::make_shared<std::promise<zk::Reply>>();
  loop_->Post([this, request = std::move(request), promise] {
    handle_->Send(request, [promise](const zk::Reply& reply) { promise->set_value(reply); });
  });
  return promise->get_future();
}

void ZkSession::OnLoop(const std::function<void(zk::Handle&)>& task) {
  RunAndWait([this, &task] { task(*handle_); });
}

void ZkSession::RunAndWait(const std::function<void()>& task) {
  // Shared, because the waiter may be gone before set_value returns.
  auto ran = std::make_shared<std::promise<void>>();
  loop_->Post([&task, ran] {
    task();
    ran->set_value();
  });
  ran->get_future().wait();
}

absl::Duration ZkSession::Close(bool patient) {
  if (handle_ == nullptr) return absl::ZeroDuration();
  absl::Duration took;
  OnLoop([this, patient, &took](zk::Handle& handle) {
    const base::BootTime before = base::BootNow();
    handle.Close(patient);
    took = base::BootNow() - before;
    handle_.reset();
  });
  return took;
}

void ZkSession::DestroyInForkedChild() { handle_.reset(); }

int ZkSession::pending() {
  int result = 0;
  OnLoop([&result](zk::Handle& handle) { result = handle.pending(); });
  return result;
}

zk::SessionId ZkSession::id() const { return listener_->id; }

absl::Duration ZkSession::negotiated() const {
  return absl::Milliseconds(listener_->negotiated_ms.load());
}

base::BootTime ZkSession::began() const {
  return base::BootTime::SinceBoot(absl::Nanoseconds(listener_->began_ns.load()));
}

}  // namespace zkrecipes::integration
