// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_SERVERS_H_
#define ZKRECIPES_LIB_ZK_SEAM_SERVERS_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace zkrecipes::zk::inline seam {

// Numeric addresses, "127.0.0.1:2181" and "[::1]:2181", in the order in which they are tried.
using NumericServers = std::vector<std::string>;

// One of them; "" for an address of another family.
std::string ToNumeric(const sockaddr& address, socklen_t size);
// The other way round: the size of `address`, or 0 if the text is none. No lookup.
socklen_t FromNumeric(const std::string& numeric, sockaddr_storage& address);

// What became of one server of a list.
struct ListedServer {
  std::string name;          // as it was listed: "zk1:2181"
  NumericServers addresses;  // none: `error` says why
  std::string error;
  bool exists = true;  // false: the name is known not to exist
  bool known = false;  // it had an address before, as a pod has that starts anew
};
struct Resolution {
  Resolution() = default;
  // Of servers that are listed by their addresses.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Resolution(NumericServers all) : addresses(std::move(all)) {
    for (const std::string& one : addresses) listed.push_back({one, {one}, ""});
  }

  NumericServers addresses;          // of all of them, each once, in the order of the attempts
  std::vector<ListedServer> listed;  // in the order of the list
};

// How many servers these are, and how many of them have an address of which `is` is true. Behind
// one name, a server has one address of each family at most: "localhost" may be 127.0.0.1 and ::1,
// and the server listen on one of them. A name without an address is one server, unless it is known
// not to exist and never had one.
struct ServerCount {
  size_t all = 0;
  size_t counted = 0;
};
ServerCount CountServers(const Resolution& servers,
                         absl::FunctionRef<bool(const std::string& address)> is);

// The names and addresses, without ports, under which servers at `address` are listed.
std::vector<std::string> HostsAt(const std::vector<ListedServer>& listed,
                                 const std::string& address);

// `latest`, where a name that could not be resolved, but may exist, keeps the addresses that it had
// in `before`, in an order that `seed` chooses (0: as listed).
Resolution KeepingKnown(const Resolution& before, std::vector<ListedServer> latest, uint64_t seed);

// Removes duplicates and shuffles from `seed`, so that clients spread over the servers.
NumericServers EachOnceShuffled(NumericServers addresses, uint64_t seed);

// Whose turn it is: the servers of a handle, one attempt to connect after another, in a list that
// may be replaced meanwhile. A pure value.
class Rotation {
 public:
  // REQUIRES of both: `servers` is not empty.
  explicit Rotation(NumericServers servers, size_t first = 0)
      : servers_(std::move(servers)), next_(first % servers_.size()) {}
  // Servers that were not there before come first; the others keep their turns, so that one which
  // has just failed comes last.
  void Replace(NumericServers servers);

  // The server of the next attempt.
  const std::string& Next() {
    current_ = servers_[next_];
    next_ = (next_ + 1) % servers_.size();
    return current_;
  }
  const std::string& current() const { return current_; }  // of the latest one; "" before the first
  bool Has(const std::string& server) const { return std::ranges::count(servers_, server) > 0; }
  const NumericServers& servers() const { return servers_; }
  int size() const { return static_cast<int>(servers_.size()); }

 private:
  NumericServers servers_;
  size_t next_;
  std::string current_;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_SERVERS_H_
