// SPDX-License-Identifier: Apache-2.0

#include "integration/client_fixture.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"

namespace zkrecipes::integration {

struct Pending::Shared {
  base::OneShot<absl::StatusOr<Lease>> answer;
  std::atomic<int> answers = 0;
};

Pending::Pending(const std::function<void(Done done)>& start)
    : shared_(std::make_shared<Shared>()) {
  start([shared = shared_](absl::StatusOr<Lease> lease) {
    ++shared->answers;
    shared->answer.Set(std::move(lease));
  });
}

Pending::Pending(const std::shared_ptr<Client>& client, const std::string& path, WaitOptions wait,
                 const LockOptions& options)
    : Pending([&](Done done) {
        Lock(client, path, options).AcquireAsync(std::move(wait), std::move(done));
      }) {}

absl::StatusOr<Lease> Pending::Get() {
  auto answer = shared_->answer.Take(base::BootNow() + kSoon);
  if (answer.has_value()) return *std::move(answer);
  return absl::InternalError("no answer");
}

int Pending::answers() const { return shared_->answers; }

struct States::Shared {
  base::Mutex mutex;
  std::vector<ClientState> seen ABSL_GUARDED_BY(mutex);
};

States::States(Client& client)
    : shared_(std::make_shared<Shared>()),
      subscription_(client.OnStateChange([shared = shared_](ClientState state) {
        base::MutexLock lock(shared->mutex);
        shared->seen.push_back(state);
      })) {}

std::vector<ClientState> States::seen() const {
  base::MutexLock lock(shared_->mutex);
  return shared_->seen;
}

bool States::Await(ClientState state) const {
  return Eventually([this, state] {
    const std::vector<ClientState> now = seen();
    return std::find(now.begin(), now.end(), state) != now.end();
  });
}

std::shared_ptr<Client> ClientTest::NewClient(ClientOptions options) {
  if (options.servers.empty()) options.servers = servers();
  if (options.session_timeout == ClientOptions().session_timeout) {
    options.session_timeout = absl::Seconds(20);
  }
  auto client = Client::Connect(std::move(options), {kSoon});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

Lease ClientTest::Acquired(const std::shared_ptr<Client>& client, const std::string& path) {
  auto lease = Lock(client, path).Acquire({kSoon});
  EXPECT_TRUE(lease.ok()) << lease.status();
  return *std::move(lease);
}

void ClientTest::CatchUp(const std::shared_ptr<Client>& client) {
  EXPECT_EQ(Acquired(client, node_path() + "-barrier").Release({kSoon}), absl::OkStatus());
}

std::vector<ContenderInfo> ClientTest::Queue(Client& client) {
  auto queue = ListContenders(client, node_path(), {kSoon});
  EXPECT_TRUE(queue.ok()) << queue.status();
  return queue.ok() ? *queue : std::vector<ContenderInfo>();
}

bool ClientTest::AwaitQueue(Client& client, size_t size) {
  return Eventually([&] { return Queue(client).size() == size; });
}

std::vector<std::string> Tree(ZkSession& session, const std::string& root) {
  // A committed write: what follows on this session sees everything before it.
  session.Do(zk::Delete{"/zkrecipes-barrier"});
  std::vector<std::string> found;
  std::vector<std::string> ahead = {root};
  while (!ahead.empty()) {
    const std::string path = std::move(ahead.back());
    ahead.pop_back();
    for (const std::string& name : session.Do(zk::GetChildren{path}).children) {
      const std::string child = zk::JoinPath(path, name);
      if (child == "/zookeeper") continue;
      found.push_back(child);
      ahead.push_back(child);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace zkrecipes::integration
