// SPDX-License-Identifier: Apache-2.0
//
// Where passwords are, and where they are not: all memory of this process is searched for them.

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint8_t kMask = 0x5a;

// A password that stands nowhere in this program: what is searched for must not be found where it
// is kept.
class Password {
 public:
  explicit constexpr Password(const char* masked, size_t size) : masked_(masked), size_(size) {}
  size_t size() const { return size_; }
  bool IsAt(const char* bytes) const {
    for (size_t i = 0; i < size_; ++i) {
      if (static_cast<char>(bytes[i] ^ kMask) != masked_[i]) return false;
    }
    return true;
  }
  bool IsIn(absl::string_view text) const {
    const char first = static_cast<char>(masked_[0] ^ kMask);
    for (size_t i = text.find(first); i != text.npos; i = text.find(first, i + 1)) {
      if (i + size_ <= text.size() && IsAt(text.data() + i)) return true;
    }
    return false;
  }
  // "user:" and this, behind the texts that are there: nothing is copied that would stay.
  void AddTo(std::vector<std::string>& users) const {
    std::string& user = users.emplace_back();
    user.reserve(5 + size_);
    user = "user:";
    for (size_t i = 0; i < size_; ++i) user.push_back(static_cast<char>(masked_[i] ^ kMask));
  }

 private:
  const char* masked_;
  size_t size_;
};

// Masked by chance: any bytes do.
constexpr char kShort[] = "\x2b\x13\x6e\x39\x17\x22";  // in a std::string's own room
constexpr char kLong[] =
    "\x3b\x29\x6b\x34\x2c\x6d\x21\x30\x3c\x6f\x22\x35\x2e\x68\x39\x28\x2d\x37\x6a\x23";
constexpr char kAdded[] =
    "\x22\x6c\x37\x28\x3f\x69\x2b\x39\x33\x20\x6e\x35\x2f\x38\x21\x6b\x3a\x32";
constexpr char kReplacing[] =
    "\x6d\x2e\x3c\x20\x68\x33\x29\x3f\x37\x6a\x24\x39\x22\x6c\x35\x2d\x3b";
constexpr Password kPasswords[] = {Password(kShort, 6), Password(kLong, 20), Password(kAdded, 18),
                                   Password(kReplacing, 17)};

struct Region {
  uint64_t begin = 0, end = 0;
  std::string line;
};

std::vector<Region> WritableRegions() {
  std::vector<Region> regions;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char rights[5] = {};
    if (sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, rights) != 3) continue;
    if (rights[0] == 'r' && rights[1] == 'w') regions.push_back({begin, end, line});
  }
  return regions;
}

// Where any of the passwords, all of one length, is: by the lines of /proc/self/maps.
std::vector<std::string> Places(std::span<const Password> passwords) {
  static std::array<char, 1 << 16> bytes;
  std::vector<std::string> places;
  const base::UniqueFd memory(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(memory.valid());
  for (const Region& region : WritableRegions()) {
    for (uint64_t at = region.begin; at < region.end; at += bytes.size() - passwords[0].size()) {
      const size_t wanted = std::min<uint64_t>(bytes.size(), region.end - at);
      const ssize_t got = pread(memory.get(), bytes.data(), wanted, static_cast<off_t>(at));
      for (const Password& password : passwords) {
        if (got <= 0 || !password.IsIn({bytes.data(), static_cast<size_t>(got)})) continue;
        places.push_back(region.line);
      }
      explicit_bzero(bytes.data(), bytes.size());  // else it would be found there
    }
  }
  return places;
}

std::vector<std::string> Places(const Password& password) { return Places({&password, 1}); }

// So long that what frees or reuses its memory leaves some of it: each piece is searched for. A
// piece is longer than a register: the dynamic linker saves on the stack all those that copied the
// password last.
class LongPassword {
 public:
  LongPassword() {
    std::minstd_rand random(7);
    for (char& c : masked_) c = static_cast<char>(('a' + random() % 26) ^ kMask);
  }
  Password whole() const { return Password(masked_.data(), masked_.size()); }
  std::vector<Password> pieces() const {
    std::vector<Password> pieces;
    for (size_t at = 0; at < masked_.size(); at += kPiece) {
      pieces.emplace_back(masked_.data() + at, kPiece);
    }
    return pieces;
  }

 private:
  static constexpr size_t kPiece = 80;
  std::array<char, 10 * kPiece> masked_;
};

class SecretsTest : public ClientTest {
 protected:
  // With the parent of all paths open to everybody, whichever test makes it.
  void SetUp() override {
    ClientTest::SetUp();
    if (HasFatalFailure()) return;
    everybody_ = NewClient({});
    beside_ = Acquired(everybody_, node_path() + "-beside");
  }
  void TearDown() override {
    beside_.reset();
    everybody_ = nullptr;
    ClientTest::TearDown();
  }
  // All that is said: answers, and what is written to stdout and stderr.
  void Note(const absl::Status& status) { absl::StrAppend(&said_, status.ToString(), "\n"); }
  std::string said_;

 private:
  std::shared_ptr<Client> everybody_;
  std::optional<Lease> beside_;
};

TEST_F(SecretsTest, NoneIsLeftInMemoryOrInAMessage) {
  const auto& [short_one, long_one, added, replacing] = kPasswords;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    ClientOptions options = {.acl = CreatorOnlyAcl()};
    options.digest_credentials.reserve(2);
    short_one.AddTo(options.digest_credentials);
    long_one.AddTo(options.digest_credentials);
    options.servers = ensemble().servers();
    auto connected = Client::Connect(std::move(options), {absl::Seconds(30)});
    ASSERT_TRUE(connected.ok()) << connected.status();
    const std::shared_ptr<Client> client = *std::move(connected);
    Lease lease = Acquired(client);
    EXPECT_FALSE(Places(short_one).empty()) << "it is searched for where it is";
    EXPECT_EQ(Places(long_one).size(), 1u) << "one copy";

    std::vector<std::string> one;
    one.reserve(1);
    added.AddTo(one);
    Note(client->AddDigestCredential(one[0]));
    explicit_bzero(one[0].data(), one[0].size());
    Note(client->AddDigestCredential("no-colon"));
    one.clear();
    replacing.AddTo(one);
    Note(client->SetDigestCredentials(std::move(one)));
    // On another connection, so not only what was replaced is gone.
    EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kHeld; }));
    for (const Password* password : {&short_one, &long_one, &added}) {
      EXPECT_TRUE(Eventually([&] { return Places(*password).empty(); }));
    }
    Note(Lock(client, node_path()).Acquire({absl::Seconds(5)}).status());
    Note(std::move(lease).Release({absl::Seconds(5)}));
    Note(client->Close({absl::Seconds(10)}));
  }
  for (const Password& password : kPasswords) {
    EXPECT_TRUE(Eventually([&] { return Places(password).empty(); }))
        << ::testing::PrintToString(Places(password));
  }
  said_ += ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said_, HasSubstr("user:password\""));
  for (const Password& password : kPasswords) EXPECT_FALSE(password.IsIn(said_)) << said_;
}

TEST_F(SecretsTest, NoneIsLeftOfAClientThatNeverConnects) {
  const LongPassword long_one;
  const Password password = long_one.whole();
  ClientOptions options = {.servers = "127.0.0.1:1"};
  options.digest_credentials.reserve(1);
  password.AddTo(options.digest_credentials);
  ClientOptions invalid = {.servers = "127.0.0.1:1", .session_timeout = absl::Milliseconds(1)};
  invalid.digest_credentials.reserve(1);
  password.AddTo(invalid.digest_credentials);
  const auto refused = Client::Connect(std::move(options), {absl::Seconds(1)});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(password.IsIn(refused.status().ToString()));
  const auto wrong = Client::Connect(std::move(invalid));
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument) << wrong.status();
  EXPECT_FALSE(password.IsIn(wrong.status().ToString()));
  EXPECT_TRUE(Eventually([&] { return Places(long_one.pieces()).empty(); }));
}

TEST_F(SecretsTest, NoneIsLeftOfACallForWhichThereIsNoThread) {
  RunInForkedChild([] {
    const LongPassword password;
    AllowNoMoreThreads();
    prctl(PR_SET_DUMPABLE, 1);  // without it the memory is not that of this user
    ClientOptions options = {.servers = "127.0.0.1:1", .executor = InlineExecutor()};
    options.digest_credentials.reserve(1);
    password.whole().AddTo(options.digest_credentials);
    EXPECT_FALSE(Places(password.pieces()).empty()) << "it is searched for where it is";
    absl::StatusCode code = absl::StatusCode::kOk;
    Client::ConnectAsync(std::move(options), {absl::Seconds(5)},
                         [&code](const auto& client) { code = client.status().code(); });
    EXPECT_EQ(code, absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(Places(password.pieces()), IsEmpty());
  });
}

// ZooKeeper refuses no digest: a wrong password is another user.
TEST_F(SecretsTest, AWrongPasswordIsToldByTheNodeThatItDoesNotOpen) {
  auto owner = NewClient({.digest_credentials = {"me:right"}, .acl = CreatorOnlyAcl()});
  const Lease lease = Acquired(owner);
  auto other = NewClient({.digest_credentials = {"me:wrong"}, .acl = CreatorOnlyAcl()});
  CatchUp(other);
  const absl::Status refused = Lock(other, node_path()).Acquire({absl::Seconds(10)}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(node_path()));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("refused by the node's ACL (ZNOAUTH)"));
  EXPECT_FALSE(absl::StrContains(refused.message(), "wrong"));
}

}  // namespace
}  // namespace zkrecipes::integration
