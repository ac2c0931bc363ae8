// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/network.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

#include "integration/servers/command.h"
#include "integration/servers/sockets.h"

namespace zkrecipes::servers {
namespace {

using base::UniqueFd;

constexpr char kBridge[] = "zkrecipes0";
constexpr char kOwnAddress[] = "10.77.0.1";
constexpr char kFirstAddress[] = "10.77.0.11";
constexpr int kPrefix = 24;

absl::Status CheckPrograms() {
  if (geteuid() != 0) {
    return absl::FailedPreconditionError("only root can make network namespaces: run as root");
  }
  const std::pair<const char*, const char*> programs[] = {
      {"ip", "iproute2"}, {"iptables", "iptables"}, {"nsenter", "util-linux"}};
  for (const auto& [program, package] : programs) {
    if (!ProgramPath(program).empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("no program ", program, ": install Debian's package ", package));
  }
  return absl::OkStatus();
}

absl::Status MoveIntoOwnNamespace() {
  if (unshare(CLONE_NEWNET) != 0) return Failed("cannot make a network namespace");
  absl::Status status = Run({"ip", "link", "set", "lo", "up"});
  status.Update(Run({"ip", "link", "add", kBridge, "type", "bridge"}));
  status.Update(
      Run({"ip", "addr", "add", absl::StrCat(kOwnAddress, "/", kPrefix), "dev", kBridge}));
  status.Update(Run({"ip", "link", "set", kBridge, "up"}));
  return status;
}

// A descriptor keeps it; it has no other name. A thread can be in one of its own.
UniqueFd NewNamespace() {
  int fd = -1;
  std::thread([&fd] {
    if (unshare(CLONE_NEWNET) == 0) fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  }).join();
  return UniqueFd(fd);
}

// Of the bridge's end, at most 15 characters, unique on this machine.
std::string NewPortName() {
  static std::atomic<int> count = 0;
  return absl::StrCat("zkr", getpid(), "h", count++);
}

std::string ToText(uint32_t address) {
  const in_addr packed{htonl(address)};
  char text[INET_ADDRSTRLEN];
  return inet_ntop(AF_INET, &packed, text, sizeof(text));
}

std::vector<std::string> Joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

absl::Status ChangeRule(const Host& in, const char* action, const std::vector<std::string>& match) {
  return RunIn(in.network_namespace,
               Joined(Joined({"iptables", "-w", action, "INPUT"}, match), {"-j", "DROP"}));
}

// TCP that leaves the host, but not what a proxy leads on.
std::vector<std::string> Leaving() {
  return {"-p", "tcp",  "!", "-d",     "127.0.0.0/8",
          "-m", "mark", "!", "--mark", absl::StrCat(TcpProxy::kMark)};
}

// New connections go to the proxy. Packets of those that are open are refused, but not the resets
// with which they end, nor packets of connections that others have made.
absl::Status ChangeDetour(const Host& host, const char* action, int port) {
  absl::Status status =
      RunIn(host.network_namespace,
            Joined(Joined({"iptables", "-w", "-t", "nat", action, "OUTPUT"}, Leaving()),
                   {"--syn", "-j", "REDIRECT", "--to-ports", absl::StrCat(port)}));
  status.Update(RunIn(host.network_namespace,
                      Joined(Joined({"iptables", "-w", action, "OUTPUT"}, Leaving()),
                             {"!", "--tcp-flags", "RST", "RST", "-m", "conntrack", "--ctdir",
                              "ORIGINAL", "-j", "REJECT", "--reject-with", "tcp-reset"})));
  return status;
}

bool Exists(const Host& host) { return access(host.network_namespace.c_str(), F_OK) == 0; }

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> Network::Make() {
  absl::Status status = CheckPrograms();
  if (status.ok()) status = MoveIntoOwnNamespace();
  if (!status.ok()) return status;
  return std::unique_ptr<Network>(new Network(kBridge, kFirstAddress, kPrefix));
}

absl::StatusOr<std::unique_ptr<Network>> Network::Join(const std::string& bridge,
                                                       const std::string& first_address,
                                                       int prefix) {
  if (absl::Status status = CheckPrograms(); !status.ok()) return status;
  return std::unique_ptr<Network>(new Network(bridge, first_address, prefix));
}

Network::Network(std::string bridge, const std::string& first_address, int prefix)
    : bridge_(std::move(bridge)),
      first_address_(ntohl(SocketAddress(first_address, 0).sin_addr.s_addr)),
      prefix_(prefix) {}

absl::StatusOr<Host> Network::AddHost() {
  UniqueFd held = NewNamespace();
  if (held.get() < 0) return Failed("cannot make a network namespace");
  const Host host{.address = ToText(first_address_ + static_cast<uint32_t>(namespaces_.size())),
                  .network_namespace = absl::StrCat("/proc/", getpid(), "/fd/", held.get())};
  if (absl::Status status = Connect(host); !status.ok()) return status;
  namespaces_.push_back(std::move(held));
  return host;
}

absl::Status Network::Connect(const Host& host) const {
  const std::string& net = host.network_namespace;
  const std::string port = NewPortName();
  absl::Status status =
      Run({"ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", net});
  status.Update(Run({"ip", "link", "set", port, "master", bridge_, "up"}));
  status.Update(RunIn(net, {"ip", "link", "set", "lo", "up"}));
  status.Update(RunIn(net, {"ip", "link", "set", "eth0", "up"}));
  status.Update(
      RunIn(net, {"ip", "addr", "add", absl::StrCat(host.address, "/", prefix_), "dev", "eth0"}));
  // The kernel follows connections from the first such rule on, and so knows which side made each.
  status.Update(
      RunIn(net, {"iptables", "-w", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "INVALID"}));
  return status;
}

absl::Status Network::Slow(const Host& host, const Slowness& slowness) {
  absl::Status status = EndSlow(host);
  const bool slow = slowness.each_way > absl::ZeroDuration() || slowness.bytes_per_second > 0;
  if (!status.ok() || !slow) return status;
  auto proxy = TcpProxy::OfRedirected(host.network_namespace, slowness);
  if (!proxy.ok()) return proxy.status();
  const int port = (*proxy)->port();
  detours_.insert({host.address, Detour{host, *std::move(proxy)}});
  status = ChangeDetour(host, "-A", port);
  if (!status.ok()) static_cast<void>(EndSlow(host));
  return status;
}

absl::Status Network::EndSlow(const Host& host) {
  const auto found = detours_.find(host.address);
  if (found == detours_.end()) return absl::OkStatus();
  const Detour detour = std::move(found->second);
  detours_.erase(found);
  return Exists(detour.host) ? ChangeDetour(detour.host, "-D", detour.proxy->port())
                             : absl::OkStatus();
}

absl::Status Network::Drop(const Host& from, const Host& to, double share) {
  std::vector<std::string> match = {"-s", from.address};
  if (share < 1) {
    match.insert(match.end(),
                 {"-m", "statistic", "--mode", "random", "--probability", absl::StrCat(share)});
  }
  absl::Status status = ChangeRule(to, "-A", match);
  if (status.ok()) rules_.push_back({from, to, std::move(match)});
  return status;
}

absl::Status Network::Mend(const Host& host) {
  absl::Status status;
  std::erase_if(rules_, [&](const Rule& rule) {
    if (rule.from.address != host.address && rule.to.address != host.address) return false;
    if (Exists(rule.to)) status.Update(ChangeRule(rule.to, "-D", rule.match));
    return true;
  });
  return status;
}

}  // namespace zkrecipes::servers
