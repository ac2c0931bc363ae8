// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WRITE_LINES_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WRITE_LINES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verification/checker/event.h"
#include "verification/workload/resource.h"

namespace zkrecipes::history {

// What a worker and the resource say to each other, a line each:
//   "write 17 /soak/lock-0 exclusive 4294967302"  ->  "17 accepted 99" or "17 refused 99"
struct WriteRequest {
  int64_t id = 0;  // the worker's: its threads ask at the same time
  std::string path;
  Event::Mode mode = Event::Mode::kExclusive;
  int64_t token = 0;
};
struct WriteAnswer {
  int64_t id = 0;
  Resource::Verdict verdict;
};

// With the line break.
std::string ToLine(const WriteRequest& request);
std::string ToLine(const WriteAnswer& answer);
// Of a line without its break; nothing if it is none.
std::optional<WriteRequest> ParseWriteRequest(const std::string& line);
std::optional<WriteAnswer> ParseWriteAnswer(const std::string& line);

// Puts together again what was sent as lines.
class LineBuffer {
 public:
  // The lines that are now complete, without their breaks.
  std::vector<std::string> Add(const char* data, size_t size);

 private:
  std::string rest_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WRITE_LINES_H_
