// SPDX-License-Identifier: Apache-2.0

#include "bench/witness.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <zookeeper/zookeeper.h>

namespace bench {
namespace {

// Every dialect's names end in the number, ten digits; other children do not count.
std::string NumberOf(const std::string& node) {
  return node.size() < 10 ? "" : node.substr(node.size() - 10);
}

}  // namespace

Witness::Witness(const std::string& servers, std::string path)
    : path_(std::move(path)), session_(servers, 40'000) {}

void Witness::AwaitQueue(int contenders) {
  while (static_cast<int>(Children().size()) < contenders) {
    std::this_thread::sleep_for(std::chrono::milliseconds(contenders < 100 ? 5 : 20));
  }
}

void Witness::WatchFirst() {
  const std::vector<std::string> queue = Children();
  const auto first = std::min_element(queue.begin(), queue.end(),
                                      [](auto& a, auto& b) { return NumberOf(a) < NumberOf(b); });
  if (first == queue.end()) FloorOrEnd(ZNONODE, "watch");
  const auto gone = [](zhandle_t*, int type, int, const char*, void* self) {
    if (type == ZOO_DELETED_EVENT) static_cast<Witness*>(self)->gone_ = true;
  };
  const auto answered = [](int rc, const Stat*, const void* self) {
    auto* const witness = static_cast<Witness*>(const_cast<void*>(self));
    if (rc == ZNONODE) witness->gone_ = true;
    witness->session_.Answered();
  };
  gone_ = false;
  const std::string node = path_ + "/" + *first;
  session_.Sent(zoo_awexists(session_.handle(), node.c_str(), gone, this, answered, this));
  session_.Drive();
}

std::chrono::steady_clock::time_point Witness::AwaitEndOfFirst() {
  while (!gone_) session_.Turn();
  return std::chrono::steady_clock::now();
}

std::vector<std::string> Witness::Children() {
  const auto listed = [](int, const String_vector* children, const void* self) {
    auto* const witness = static_cast<Witness*>(const_cast<void*>(self));
    witness->children_.clear();
    for (int i = 0; children != nullptr && i < children->count; ++i) {
      witness->children_.emplace_back(children->data[i]);
    }
    witness->session_.Answered();
  };
  session_.Sent(zoo_aget_children(session_.handle(), path_.c_str(), 0, listed, this));
  session_.Drive();
  return children_;
}

}  // namespace bench
