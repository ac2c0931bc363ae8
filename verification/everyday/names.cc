// SPDX-License-Identifier: Apache-2.0

#include "verification/everyday/names.h"

#include <sched.h>
#include <sys/mount.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace zkrecipes::everyday {
namespace {

using servers::Failed;
using servers::RunIn;

constexpr char kHosts[] = "/etc/hosts";
constexpr int kAddresses = 100;  // three digits each: the file's length never changes

}  // namespace

absl::StatusOr<std::unique_ptr<Names>> Names::Make(const std::string& directory) {
  std::unique_ptr<Names> names(new Names(directory + "/hosts"));
  if (absl::Status status = names->Write(); !status.ok()) return status;
  if (unshare(CLONE_NEWNS) != 0 ||
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount(names->file_.c_str(), kHosts, nullptr, MS_BIND, nullptr) != 0) {
    return Failed("cannot have an /etc/hosts of our own");
  }
  return names;
}

absl::Status Names::Cover(const servers::Servers& servers) {
  addresses_.resize(static_cast<size_t>(servers.size()));
  absl::Status status;
  for (int i = 0; i < servers.size(); ++i) {
    const std::string server = servers.server(i);
    ports_.push_back(server.substr(server.rfind(':') + 1));
    status.Update(Assign(servers, i));
  }
  status.Update(Write());
  return status;
}

absl::Status Names::Move(const servers::Servers& servers, int i) {
  const std::string old = addresses_[static_cast<size_t>(i)];
  absl::Status status =
      RunIn(servers.host(i).network_namespace, {"ip", "addr", "del", old + "/24", "dev", "eth0"});
  status.Update(Assign(servers, i));
  status.Update(Write());
  return status;
}

// The server listens on its own address only, so packets are led on to it.
absl::Status Names::Assign(const servers::Servers& servers, int i) {
  const servers::Host own = servers.host(i);
  const std::string address = absl::StrCat("10.77.0.", 100 + assigned_++ % kAddresses);
  absl::Status status =
      RunIn(own.network_namespace, {"ip", "addr", "add", address + "/24", "dev", "eth0"});
  status.Update(
      RunIn(own.network_namespace, {"iptables", "-w", "-t", "nat", "-I", "PREROUTING", "-p", "tcp",
                                    "-d", address, "-j", "DNAT", "--to-destination", own.address}));
  addresses_[static_cast<size_t>(i)] = address;
  return status;
}

// In place, since the file is mounted; whoever reads it meanwhile sees an old or a new address.
absl::Status Names::Write() const {
  std::string text = "127.0.0.1 localhost\n";
  for (size_t i = 0; i < addresses_.size(); ++i) {
    absl::StrAppend(&text, addresses_[i], " zk", i + 1, "\n");
  }
  std::fstream out(file_, std::ios::in | std::ios::out);
  if (!out) out.open(file_, std::ios::out);
  out << text << std::flush;
  return out ? absl::OkStatus() : absl::InternalError("cannot write " + file_);
}

std::string Names::list() const {
  std::string list;
  for (size_t i = 0; i < ports_.size(); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ",", "zk", i + 1, ":", ports_[i]);
  }
  return list;
}

servers::Host Names::host(const servers::Servers& servers, int i) const {
  return {.address = addresses_[static_cast<size_t>(i)],
          .network_namespace = servers.host(i).network_namespace};
}

}  // namespace zkrecipes::everyday
