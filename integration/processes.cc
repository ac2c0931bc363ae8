// SPDX-License-Identifier: Apache-2.0

#include "integration/processes.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace zkrecipes::integration {
namespace {

namespace fs = std::filesystem;

std::set<std::string> SocketInodesOf(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(absl::StrCat("/proc/", pid, "/fd"), error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.rfind("socket:[", 0) == 0) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

// "0100007F:1F90", as the kernel shows 127.0.0.1:8080 on a little-endian machine.
std::string ReadableAddress(const std::string& hex) {
  const size_t colon = hex.find(':');
  const auto port = std::stoul(hex.substr(colon + 1), nullptr, 16);
  if (colon != 8) return absl::StrFormat("[%s]:%u", hex.substr(0, colon), port);
  const auto ip = static_cast<uint32_t>(std::stoul(hex.substr(0, 8), nullptr, 16));
  return absl::StrFormat("%u.%u.%u.%u:%u", ip & 255, ip >> 8 & 255, ip >> 16 & 255, ip >> 24, port);
}

}  // namespace

std::vector<std::string> ListeningAddressesOf(pid_t pid) {
  constexpr char kListen[] = "0A";
  const std::set<std::string> inodes = SocketInodesOf(pid);
  std::vector<std::string> addresses;
  for (const char* table : {"tcp", "tcp6"}) {
    std::ifstream in(absl::StrCat("/proc/", pid, "/net/", table));
    std::string line;
    for (std::getline(in, line); std::getline(in, line);) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >>
          timeout >> inode;
      if (state == kListen && inodes.count(inode) > 0) addresses.push_back(ReadableAddress(local));
    }
  }
  return addresses;
}

int LiveProcessesIn(pid_t group) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream in(entry.path() / "stat");
    std::string line;
    if (!std::getline(in, line)) continue;
    // "pid (name) state ppid pgrp": the name may hold blanks and parentheses.
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    char state = 0;
    pid_t parent = 0, process_group = 0;
    fields >> state >> parent >> process_group;
    if (process_group == group && state != 'Z' && state != 'X') ++count;
  }
  return count;
}

}  // namespace zkrecipes::integration
