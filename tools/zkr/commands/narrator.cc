// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/narrator.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::commands {
namespace {

absl::Duration PatienceOf(const GlobalFlags& flags) {
  if (flags.quiet) return absl::InfiniteDuration();
  return flags.verbose ? absl::ZeroDuration() : absl::Seconds(1);
}

}  // namespace

bool SleepFor(absl::Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, absl::ToChronoNanoseconds(time), [] { return false; });
  return !stop.stop_requested();
}

Late::Late(const GlobalFlags& flags, std::function<void(std::stop_token)> tell)
    : Late(PatienceOf(flags), std::move(tell)) {}

Late::Late(absl::Duration patience, std::function<void(std::stop_token)> tell) {
  if (patience == absl::InfiniteDuration()) return;
  try {
    thread_ = std::jthread([patience, tell = std::move(tell)](std::stop_token stop) {
      if (SleepFor(patience, stop)) tell(stop);
    });
    // Out of threads: silence is better than a lock that is not taken.
  } catch (const std::system_error&) {
  }
}

OutageNotice::OutageNotice(const GlobalFlags& flags, Client& client,
                           std::function<void(bool)> notify)
    : flags_(flags),
      notify_(std::move(notify)),
      core_(internal::ClientAccess::Core(client)),
      states_(client.OnStateChange([this](ClientState state) { On(state); })) {}

void OutageNotice::On(ClientState state) {
  // Waits until a message that is being written is written, so "connected again" comes after it.
  late_.reset();
  if (state == ClientState::kConnected) {
    Tell(false);
  } else if (state == ClientState::kSuspended) {
    const bool only_notified = flags_.quiet && notify_;
    late_.emplace(only_notified ? absl::Seconds(1) : PatienceOf(flags_),
                  [this](const std::stop_token& stop) {
                    Tell(true);
                    if (!flags_.quiet) TellOfRefusal(stop);
                  });
  }
}

void OutageNotice::Tell(bool outage) {
  base::MutexLock lock(mutex_);
  if (std::exchange(told_, outage) == outage) return;
  if (!flags_.quiet) Complain(outage ? "connection lost" : "connected again");
  if (notify_) notify_(outage);
}

// Servers that have lost their data: more than an outage, and an operator has to act. Once, and not
// of a few that lag behind the others in an outage.
void OutageNotice::TellOfRefusal(const std::stop_token& stop) {
  std::optional<base::BootTime> since;
  do {
    const base::BootTime now = base::BootNow();
    since = core_->reach()->refused() ? since.value_or(now) : std::optional<base::BootTime>();
    if (!since || now - *since < core_->session_timeout() / 2) continue;
    return Complain(
        absl::StrCat(core_->trouble(),
                     "; if most servers say so for a session timeout, a new session begins, with ",
                     "tokens that start again: raise the epoch (zkr epoch --raise)"));
    // Often enough: it has half of a session timeout to be told.
  } while (SleepFor(std::min(absl::Seconds(1), core_->session_timeout() / 8), stop));
}

std::string WhyItWaits(const std::string& path, std::vector<ContenderInfo> queue,
                       std::int64_t session) {
  std::erase_if(queue, IsMember);
  const auto own = std::find_if(queue.begin(), queue.end(),
                                [&](const ContenderInfo& c) { return c.session == session; });
  // Its node is not made yet, or it is about to be granted: nothing to tell.
  if (own == queue.end() || own->holds) return "";
  const ContenderInfo& holder = queue.front();
  const std::ptrdiff_t holders = std::ranges::count(queue, true, &ContenderInfo::holds);
  return absl::StrCat("waiting for ", path, ": ", own - queue.begin(), " in front, the next is ",
                      Printable(OwnerText((own - 1)->owner)), "; held by ",
                      Printable(OwnerText(holder.owner)), " since ", TimeText(holder.since),
                      holders > 1 ? absl::StrCat(", and by ", holders - 1, " more") : "");
}

Late NoticeOfWait(const GlobalFlags& flags, std::shared_ptr<Client> client,
                  const std::string& path) {
  return Late(flags, [client = std::move(client), path](const std::stop_token& stop) {
    do {
      const auto queue = ListContenders(*client, path, {absl::Seconds(5), stop});
      // Without an answer there is nothing to tell yet; the outage has a teller of its own.
      if (!queue.ok()) continue;
      const std::string why = WhyItWaits(path, *queue, client->session_id());
      if (!why.empty() && !stop.stop_requested()) return Complain(why);
    } while (SleepFor(absl::Seconds(1), stop));  // it may not have a node yet
  });
}

}  // namespace zkrecipes::zkr::commands
