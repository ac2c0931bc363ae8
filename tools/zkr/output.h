// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_OUTPUT_H_
#define ZKRECIPES_TOOLS_ZKR_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"

#include "testing/local/detached_ensemble.h"
#include "tools/zkr/partitions.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::zkr {

// The texts that zkr prints: lines for people, and one line of JSON for programs, in which bytes
// that are not UTF-8 are replaced. Every text ends with a newline.

// A queue, as `zkr ls` shows it.
struct QueueView {
  std::string path = {};
  // nullopt: unknown, as the servers do not answer; in JSON null.
  std::optional<std::vector<ContenderInfo>> queue = {};
  std::optional<int> permits = {};  // of a semaphore, as the path's data name it; nullopt: unknown
  std::optional<PartitionsView> partitions = {};  // nullopt: it is no path of Partitions
  bool empty() const { return queue && queue->empty() && !partitions; }
};
std::string QueueText(const QueueView& view);  // REQUIRES: the queue is known
std::string QueueJson(const QueueView& view);

// `text` for a terminal of so many rows: its beginning, where the holders are, with the number of
// lines that are left out.
std::string OnScreen(const std::string& text, std::size_t rows);
nlohmann::ordered_json ContenderJson(const ContenderInfo& c);

// Whether this client may read the contender's node. If not, token, session, owner and time are
// unknown: shown as such, and as null.
inline bool IsRead(const ContenderInfo& c) { return c.node_czxid != 0; }

// "exclusive", "shared" or "leader", and for people also "permit" or "member", by its node's name.
std::string ModeText(const ContenderInfo& c);
bool IsPermit(const ContenderInfo& c);
bool IsMember(const ContenderInfo& c);  // of a group: it holds no lock, and nobody waits for it

// Whether it holds depends on the number in its node, which this client may not read.
inline bool MayHold(const ContenderInfo& c) { return IsPermit(c) && !IsRead(c) && !c.holds; }

// "2 of 3 permits held", "at least 1 of 3" if others may hold; "" of a queue without a permit.
// nullopt: their number is unknown.
std::string PermitsText(const std::vector<ContenderInfo>& queue, std::optional<int> permits);

// What is known of a holder that stays (ContenderInfo::stays), whether others wait or not.
inline constexpr char kHeldOrIdle[] = ": held, or idle until it hears of another contender";

// "id@host:pid", as far as it is known; otherwise "-". As its process wrote it: see Printable.
std::string OwnerText(const OwnerInfo& owner);

// One line for people, of a text that others may have written, such as owners, names and data: what
// cannot be shown is escaped (controls, no UTF-8, what has no width or turns the direction of
// writing), and what is wider is cut.
std::string Printable(absl::string_view text, std::size_t widest = 72);

// "0x3000100e01d0000".
std::string SessionText(std::int64_t session);

// "2026-11-24 13:06:57Z": all times are in UTC, as the logs of servers on several machines are.
std::string TimeText(absl::Time time);
std::string JsonTimeText(absl::Time time);  // "2026-11-24T13:06:57.123+00:00"

// `object` on one line, in ASCII; bytes that are not UTF-8 are replaced.
std::string JsonLine(const nlohmann::ordered_json& object);

// The words of `text` in lines of so many columns; a word that is longer than a line stays whole.
std::vector<std::string> Lines(absl::string_view text, std::size_t columns);

// `label`, then `text`, made printable, in lines of at most 100 columns that begin below its own
// beginning.
std::string Paragraph(const std::string& label, const std::string& text);
template <typename... Parts>
std::string Paragraph(const std::string& label, const Parts&... parts) {
  return Paragraph(label, absl::StrCat(parts...));
}

// The output of `zkr lock --hold`: "4294967302 zkr1:exclusive:...", and "lost".
std::string HeldText(const Sequencer& sequencer, bool json);
std::string LostText(bool json);

// The output of `zkr check`.
std::string CheckedText(const std::string& sequencer, bool holds, bool json);

std::string EpochText(std::int64_t epoch, bool json);

// nullopt: there is no leader.
std::string LeaderText(const std::optional<Leader>& leader);
std::string LeaderJson(const std::optional<Leader>& leader);
std::string UnknownLeaderJson();  // no server answers

std::string StartedJson(const std::string& directory, const std::string& servers);
std::string StoppedJson(const std::string& directory, int stopped);
std::string StatusText(const testing::DetachedStatus& status);
std::string StatusJson(const std::string& directory, const testing::DetachedStatus& status);

// A diagnostic: {"time": ..., "message": ..., "code": "UNAVAILABLE"}; `code` empty: none, shown as
// null.
std::string LogJson(absl::Time time, const std::string& message, const std::string& code);

// `token` 0: none, shown as null.
std::string ResultJson(const std::string& word, int status, std::int64_t token);

// A line for each row of Printable texts. Columns are as wide as their widest text, two blanks
// apart. REQUIRES: all rows are equally long.
std::string FormatTable(std::vector<std::vector<std::string>> rows);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_OUTPUT_H_
