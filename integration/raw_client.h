// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RAW_CLIENT_H_
#define ZKRECIPES_INTEGRATION_RAW_CLIENT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

#include "testing/unique_fd.h"

namespace zkrecipes::integration {

// Just enough of ZooKeeper's protocol to look at a server without the library under test. A call
// blocks up to five seconds.

// A session that sends no pings. Closed at its end, if the server answers.
class RawSession {
 public:
  // A new session, or another client's if its number is given.
  explicit RawSession(const std::string& server, absl::Duration timeout = absl::Seconds(10),
                      int64_t session = 0);
  ~RawSession();

  bool answered() const { return welcome_.size() >= 8; }
  // A server that does not go on with the session grants it no timeout.
  bool refused() const;

  // ZooKeeper's code, -1 if there is no reply.
  int Create(const std::string& path, bool ephemeral = false);
  int Exists(const std::string& path);
  int Sync(const std::string& path);
  int SetPermissions(const std::string& path, int32_t permissions);  // everybody's

 private:
  int Call(const std::string& request);
  std::string Exchange(const std::string& packet);
  std::string Read(size_t size);

  testing::UniqueFd fd_;
  std::string welcome_;
};

// Each opens a session and closes it. False also if the server fails.
bool CreateNode(const std::string& server, const std::string& path);
bool NodeExists(const std::string& server, const std::string& path);
// Ends another client's session, as its expiry does. False if it does not end.
bool EndSession(const std::string& server, int64_t session);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_RAW_CLIENT_H_
