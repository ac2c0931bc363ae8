// SPDX-License-Identifier: Apache-2.0

#include "integration/lease/lease_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace zkrecipes::integration {

int LeaseRuns(int in_ci) {
  int runs = 0;
  const char* wanted = getenv("ZKRECIPES_LEASE_RUNS");
  return wanted != nullptr && absl::SimpleAtoi(wanted, &runs) && runs > 0 ? runs : in_ci;
}

std::string Milliseconds(absl::Duration duration) {
  const double milliseconds = absl::ToDoubleMilliseconds(duration);
  return absl::StrFormat("%.*f ms", milliseconds < 10 ? 1 : 0, milliseconds);
}

std::string Spread(std::vector<absl::Duration> all) {
  if (all.empty()) return "none";
  std::sort(all.begin(), all.end());
  return absl::StrCat("median ", Milliseconds(all[all.size() / 2]), " of ", all.size(), ", from ",
                      Milliseconds(all.front()), " to ", Milliseconds(all.back()));
}

bool Proven(const Lease& lease) {
  return lease.state() == Lease::State::kHeld && lease.remaining() > absl::ZeroDuration();
}

std::shared_ptr<Client> LeaseTest::NewClient(int member, ClientOptions options) {
  if (options.servers.empty()) options.servers = ensemble().member(member);
  auto client = Client::Connect(std::move(options), {kSoon});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

Lease LeaseTest::Acquired(const std::shared_ptr<Client>& client, const std::string& path) {
  auto lease = Lock(client, path).Acquire({kSoon});
  EXPECT_TRUE(lease.ok()) << lease.status();
  return *std::move(lease);
}

std::string LeaseTest::NewPath() {
  static int count = 0;
  return absl::StrCat("/lease-", ++count);
}

void LeaseTest::MakeWhole() {
  ensemble().HealAll();
  const absl::Status whole = ensemble().local().WaitForAll(kSoon);
  ASSERT_TRUE(whole.ok()) << whole;
}

}  // namespace zkrecipes::integration
