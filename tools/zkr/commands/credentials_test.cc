// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/credentials.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::commands {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Read = absl::StatusOr<std::vector<std::string>>;

// A pipe, as `--digest-file <(...)` gives.
Read ReadText(const std::string& text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) abort();
  const base::UniqueFd out(ends[0]);
  {
    const base::UniqueFd in(ends[1]);
    EXPECT_EQ(fcntl(in.get(), F_SETPIPE_SZ, 1 << 20), 1 << 20);
    EXPECT_EQ(write(in.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  return ReadCredentials(absl::StrCat("/proc/self/fd/", out.get()));
}

TEST(Credentials, AreOneUserALine) {
  EXPECT_THAT(*ReadText("alice:secret\n"), ElementsAre("alice:secret"));
  EXPECT_THAT(*ReadText("alice:secret\n\nbob:a b:c\ncarol:"),
              ElementsAre("alice:secret", "bob:a b:c", "carol:"));
}

TEST(Credentials, OfAnotherFormAreRefusedByLineAndNotShown) {
  for (const std::string line : {"secret", ":secret", "alice:secret\r"}) {
    const Read read = ReadText("bob:b\n" + line + "\n");
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(": line 2 is not user:password"));
    EXPECT_THAT(std::string(read.status().message()), Not(HasSubstr("secret")));
  }
  EXPECT_THAT(std::string(ReadText("\n").status().message()), HasSubstr("names no user"));
}

TEST(Credentials, OfAFileThatIsNoneAreRefused) {
  EXPECT_EQ(ReadCredentials("/none/here").status().message(),
            "/none/here: No such file or directory");
  EXPECT_EQ(ReadCredentials("/").status().message(), "/: Is a directory");
  EXPECT_TRUE(ReadText("a:" + std::string((64 << 10) - 2, 'x')).ok());
  EXPECT_THAT(std::string(ReadText("a:" + std::string((64 << 10) - 1, 'x')).status().message()),
              HasSubstr("larger than 64 KiB"));
}

}  // namespace
}  // namespace zkrecipes::zkr::commands
