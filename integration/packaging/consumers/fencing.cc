// SPDX-License-Identifier: Apache-2.0
// Guards a file and some keys, with zkrecipes::fencing alone.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "zkrecipes/fencing/fenced_file.h"
#include "zkrecipes/fencing/fenced_http.h"

int main() {
  std::string folder = "/tmp/zkr-consumer-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  zkrecipes::FencedFile file(folder + "/report");
  const auto gate = *zkrecipes::FencingGate::Open();
  const auto pass = zkrecipes::ParseFencingTokenHeader("7");
  const zkrecipes::FencingPass older{.token = zkrecipes::FencingToken(6)};
  const bool right = file.Create().ok() && file.Write(*pass, "a line").ok() &&
                     gate->Admit("k", *pass).ok() &&
                     absl::IsFailedPrecondition(file.Write(older, "another")) &&
                     absl::IsFailedPrecondition(gate->Admit("k", older)) &&
                     !zkrecipes::Sequencer::Parse("no sequencer").ok();
  (void)std::system(("rm -r " + folder).c_str());
  std::puts(right ? "the older holder is refused" : "FAIL");
  return right ? 0 : 1;
}
