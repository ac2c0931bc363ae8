// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_READ_FILE_H_
#define ZKRECIPES_TESTING_LOCAL_READ_FILE_H_

#include <fstream>
#include <sstream>
#include <string>

namespace zkrecipes::testing {

// All of a file; empty if it cannot be read.
inline std::string ReadFile(const std::string& path) {
  // Not by istreambuf_iterator, which throws where a read fails: in /proc, when a process ends.
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_READ_FILE_H_
