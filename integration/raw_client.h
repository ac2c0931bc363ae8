// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RAW_CLIENT_H_
#define ZKRECIPES_INTEGRATION_RAW_CLIENT_H_

#include <cstdint>
#include <string>

namespace zkrecipes::integration {

// Just enough of ZooKeeper's protocol to look at a server without the library under test. Each call
// opens a session and closes it; each blocks up to five seconds. False also if the server fails.
bool CreateNode(const std::string& server, const std::string& path);
bool NodeExists(const std::string& server, const std::string& path);
// Ends another client's session, as its expiry does. False if it does not end.
bool EndSession(const std::string& server, int64_t session);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_RAW_CLIENT_H_
