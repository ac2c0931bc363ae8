// SPDX-License-Identifier: Apache-2.0
//
// What TLS costs: the same client on the plain and on the secure port of one server, in turns.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/tls/secure_ensemble.h"
#include "lib/base/boot_time.h"
#include "lib/zk/tls/tls.h"
#include "lib/zk/tls/tls_fixture.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class TlsFiguresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = SecureEnsemble::Start(1);
    ASSERT_TRUE(started.ok()) << started.status();
    ensemble_ = *std::move(started);
  }
  std::shared_ptr<Client> Connect(bool secure) {
    ClientOptions options{.servers = secure ? ensemble_->servers() : ensemble_->members().servers(),
                          .session_timeout = absl::Seconds(60)};
    if (secure) options.tls = ensemble_->options();
    auto client = Client::Connect(options, {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
    return client.value_or(nullptr);
  }
  template <typename F>
  static double MicrosecondsOf(F work) {
    const base::BootTime began = base::BootNow();
    work();
    return absl::ToDoubleMicroseconds(base::BootNow() - began);
  }

  std::unique_ptr<SecureEnsemble> ensemble_;
};

TEST_F(TlsFiguresTest, OfAConnection) {
  std::vector<double> took[2];
  for (int i = 0; i < 60; ++i) {
    for (const bool secure : {false, true}) {
      const double each = MicrosecondsOf([&] { Connect(secure); });
      if (i >= 10) took[secure].push_back(each);  // Java gets faster
    }
  }
  std::printf("connect and close: plain %.2f ms, TLS %.2f ms\n", Median(took[0]) / 1000,
              Median(took[1]) / 1000);
}

double ProcessorMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// With a certificate of 256 bits on either side, and without the server's part.
TEST(TlsHandshakeFigures, OfTheClientsComputing) {
  const zk::tls::TlsFiles files;
  zk::tls::TestAuthority authority;
  const zk::tls::Identity own = authority.Issue();
  const TlsOptions options{.ca_file = files.Write("ca", authority.certificate()),
                           .certificate_file = files.Write("own", own.certificate),
                           .key_file = files.Write("key", own.key)};
  auto context = zk::tls::TlsContext::Open(options);
  ASSERT_TRUE(context.ok()) << context.status();
  std::vector<double> took;
  for (int i = 0; i < 200; ++i) {
    zk::tls::TlsServerEnd server(authority.Issue(), {.client_authority = authority.certificate()});
    double began = ProcessorMicroseconds();
    double sum = 0;
    auto stream = (*context)->Connect({"localhost"});
    ASSERT_TRUE(stream.ok()) << stream.status();
    while (!(*stream)->unsent().empty()) {
      sum += ProcessorMicroseconds() - began;
      server.Hear((*stream)->unsent());
      const std::string answer = server.TakeUnsent();
      began = ProcessorMicroseconds();
      (*stream)->Sent((*stream)->unsent().size());
      (*stream)->Hear(answer);
    }
    ASSERT_EQ((*stream)->state(), zk::tls::TlsStream::State::kEstablished) << (*stream)->failure();
    took.push_back(sum + ProcessorMicroseconds() - began);
  }
  std::printf("handshake: the client computes for %.0f us\n", Median(took));
}

TEST_F(TlsFiguresTest, OfAnUncontendedCycle) {
  constexpr int kRounds = 10, kCycles = 200;
  const std::shared_ptr<Client> clients[] = {Connect(false), Connect(true)};
  std::vector<double> took[2], ratios;
  for (int round = 0; round < kRounds; ++round) {
    for (const bool secure : {false, true}) {
      Lock lock(clients[secure], absl::StrCat("/figures", secure));
      std::vector<double> each;
      for (int i = 0; i < kCycles; ++i) {
        each.push_back(MicrosecondsOf([&] {
          auto lease = lock.Acquire({kSoon});
          ASSERT_TRUE(lease.ok()) << lease.status();
          ASSERT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
        }));
      }
      took[secure].push_back(Median(each));
    }
    ratios.push_back(took[1].back() / took[0].back());
  }
  std::printf("cycle: plain %.0f us, TLS %.0f us, ratio %.2f\n", Median(took[0]), Median(took[1]),
              Median(ratios));
}

}  // namespace
}  // namespace zkrecipes::integration
