// SPDX-License-Identifier: Apache-2.0

#include "integration/partitionable_ensemble.h"

#include "absl/strings/str_cat.h"

#include "integration/faults/member_java.h"
#include "integration/faults/member_ports.h"

namespace zkrecipes::integration {
namespace {

absl::StatusOr<std::string> WriteJava(const std::string& directory,
                                      const std::vector<std::unique_ptr<TcpProxy>>& proxies) {
  std::vector<std::string> settings;
  for (const auto& proxy : proxies) {
    const std::string address = proxy->address();
    settings.push_back("proxy=" + address.substr(address.rfind(':') + 1));
  }
  // Without the empty list it would connect to loopback addresses directly.
  return faults::WriteMemberJava(
      directory, settings,
      absl::StrCat("exec ", faults::kJava, " -DsocksProxyHost=127.0.0.1 -DsocksProxyPort=$proxy",
                   " -DsocksNonProxyHosts= \"$@\""));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PartitionableEnsemble>> PartitionableEnsemble::Start(
    testing::LocalEnsembleOptions options) {
  auto directory = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!directory.ok()) return directory.status();
  std::unique_ptr<PartitionableEnsemble> ensemble(
      new PartitionableEnsemble(*std::move(directory), options.servers));
  if (auto status = ensemble->Launch(std::move(options)); !status.ok()) return status;
  return ensemble;
}

PartitionableEnsemble::PartitionableEnsemble(testing::WorkDirectory directory, int size)
    : directory_(std::move(directory)) {
  for (int i = 0; i < size; ++i) proxies_.push_back(std::make_unique<TcpProxy>());
}

absl::Status PartitionableEnsemble::Launch(testing::LocalEnsembleOptions options) {
  auto java = WriteJava(directory_.path(), proxies_);
  if (!java.ok()) return java.status();
  options.java = *java;
  auto local = testing::LocalEnsemble::Start(std::move(options));
  if (!local.ok()) return local.status();
  local_ = *std::move(local);
  for (int i = 0; i < size(); ++i) {
    const auto [quorum, election] = faults::MemberPortsOf(local_->directory(), i);
    ports_.push_back({quorum, election});
  }
  return absl::OkStatus();
}

void PartitionableEnsemble::Cut(int from, int to) {
  cut_.insert({from, to});
  Apply();
}

void PartitionableEnsemble::Mend(int from, int to) {
  cut_.erase({from, to});
  Apply();
}

void PartitionableEnsemble::CutOff(int i) {
  for (int other = 0; other < size(); ++other) cut_.insert({{i, other}, {other, i}});
  Apply();
}

void PartitionableEnsemble::Heal(int i) {
  std::erase_if(cut_, [i](const auto& link) { return link.first == i || link.second == i; });
  Apply();
}

void PartitionableEnsemble::HealAll() {
  cut_.clear();
  Apply();
}

void PartitionableEnsemble::Apply() {
  for (int from = 0; from < size(); ++from) {
    std::set<int> ports;
    for (int to = 0; to < size(); ++to) {
      if (cut_.count({from, to}) != 0) ports.insert(ports_[to].begin(), ports_[to].end());
    }
    proxies_[from]->CutOnly(ports);
  }
}

}  // namespace zkrecipes::integration
