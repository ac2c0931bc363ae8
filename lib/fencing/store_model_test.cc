// SPDX-License-Identifier: Apache-2.0
//
// A fenced file and a fenced object beside the rule: random holders write and claim, stand still at
// any call while others go on, are killed there, and try again; requests and answers are lost or
// late, the store is busy, the machine crashes. After every call it is asked whether the content
// has changed, and by whom.

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/disk_fixture.h"
#include "lib/fencing/fenced_body.h"
#include "lib/fencing/object_store_fixture.h"
#include "testing/rounds.h"

namespace zkrecipes::fencing {
namespace {

using internal::FileOnDisk;

// One call of one holder.
struct Call {
  FencingPass pass;
  bool claims = false;
  std::string data = {};  // no two writes have the same
  bool ended = false;
  bool may_be_late = false;  // it has ended, and its request may still be under way
  size_t end = 0;            // of the history, when it ended
  int commits = 0;
  size_t begin = 0;  // of the history: the content when it began
};

constexpr unsigned kSeeds = testing::Rounds(40);
constexpr int kMany = 25 * kSeeds;  // of each outcome

struct Killed {};

struct Outcomes {
  int ok = 0, stale = 0, unknown = 0, killed = 0, late = 0, crashes = 0;
};

void ExpectAllSeen(const Outcomes& counts) {
  EXPECT_GT(counts.ok, kMany);
  EXPECT_GT(counts.stale, kMany);
  EXPECT_GT(counts.unknown, kMany);
  EXPECT_GT(counts.killed, kMany);
  std::printf("OK %d, stale %d, not known %d, killed %d, late %d, crashes %d\n", counts.ok,
              counts.stale, counts.unknown, counts.killed, counts.late, counts.crashes);
}

class World {
 public:
  World(unsigned seed, Outcomes& counts) : random_(seed), counts_(counts) {}
  virtual ~World() = default;

  void Run(int calls) {
    history_ = {Stored()};
    for (int i = 0; i < calls && !::testing::Test::HasFailure(); ++i) {
      stops_ = 4;
      hindered_ = !Calm();
      CallOnce();
      AtRest();
    }
  }

 protected:
  virtual FencedBody Stored() = 0;
  virtual absl::StatusOr<std::string> Do(const Call& call) = 0;  // a claim's data
  virtual void Weather() = 0;                                    // before any call of the store
  virtual void AtRest() = 0;                                     // no process is inside a call
  virtual bool down() const { return false; }
  virtual bool Calm() const { return true; }  // nothing is left of the weather before
  virtual bool requests_may_be_late() const { return false; }

  unsigned Any(unsigned n) { return static_cast<unsigned>(random_()) % n; }

  // Before each call that a holder makes of the store. It stands still there while others make
  // whole calls, and may be killed there.
  void Step() {
    Look();
    Weather();
    Look();
    if (stops_ <= 0 || down() || Any(8) != 0) return;
    --stops_;
    hindered_ = true;
    for (unsigned others = Any(3); others > 0 && !down(); --others) CallOnce();
    if (Any(4) == 0) throw Killed();
  }

  // Whether the content was changed as the rule says, by a call that may have done so.
  void Look() {
    if (down()) return;
    const FencedBody body = Stored();
    const FencedBody& before = history_.back();
    if (body == before) return;
    for (Call& call : calls_) {
      FencingFloor floor = before.floor;
      if (!floor.Admit(call.pass).ok() || floor != body.floor) continue;
      if (body.data != (call.claims ? before.data : call.data)) continue;
      if (call.commits > 0 && !call.claims) continue;  // one claim looks like another
      if (call.ended && (!call.may_be_late || call.end != history_.size())) continue;
      ++call.commits;
      counts_.late += call.ended;
      history_.push_back(body);
      return;
    }
    history_.push_back(body);
    ADD_FAILURE() << "the rule allows no call to put " << WriteFencedBody(body);
  }

  void CallOnce() {
    while (calls_.size() > 300 && calls_.front().ended) calls_.pop_front();
    calls_.push_back({.pass = AnyPass(), .claims = Any(3) == 0, .data = absl::StrCat(++number_)});
    Call& call = calls_.back();
    call.begin = history_.size() - 1;
    try {
      Judge(call, Do(call));
    } catch (Killed) {
      ++counts_.killed;
      call.may_be_late = requests_may_be_late();
    }
    call.ended = true;
    call.end = history_.size();
  }

  // Once its floor was there no older holder could change the data.
  bool WasThere(const Call& call, const std::string& claimed) const {
    return std::any_of(history_.begin() + static_cast<std::ptrdiff_t>(call.begin), history_.end(),
                       [&](const FencedBody& body) {
                         FencingFloor floor = body.floor;
                         return body.data == claimed && floor.Admit(call.pass).ok() &&
                                floor == body.floor;
                       });
  }

  void Judge(Call& call, const absl::StatusOr<std::string>& answer) {
    const absl::Status& status = answer.status();
    Look();
    FencingFloor floor = history_.back().floor;
    const bool admitted = floor.Admit(call.pass).ok();
    if (status.ok()) {
      ++counts_.ok;
      EXPECT_FALSE(admitted && floor != history_.back().floor) << "its pass did not stay";
      EXPECT_TRUE(!call.claims || WasThere(call, *answer)) << *answer << " was claimed";
      EXPECT_TRUE(call.claims || call.commits == 1) << call.data << " was not written";
      confirmed_ = history_.size() - 1;
    } else if (absl::IsFailedPrecondition(status)) {
      ++counts_.stale;
      EXPECT_FALSE(admitted) << status;
    } else {
      ++counts_.unknown;
      EXPECT_TRUE(absl::IsUnavailable(status) && hindered_) << status;
      call.may_be_late = requests_may_be_late();
    }
  }

  FencingPass NewPass() {
    // The next turn of the same token.
    if (!passes_.empty() && passes_.back().turn > 0 && Any(3) != 0) {
      FencingPass next = passes_.back();
      ++next.turn;
      return next;
    }
    if (Any(50) == 0) ++epoch_, token_ = 0;
    const FencingToken token(++token_);
    if (Any(3) == 0) return {token, GrantMode::kShared, epoch_};
    return {token, GrantMode::kExclusive, epoch_, Any(2)};
  }

  // Mostly one of the latest grants.
  FencingPass AnyPass() {
    if (passes_.empty() || Any(3) == 0) passes_.push_back(NewPass());
    const auto back = std::min<size_t>(Any(Any(3) == 0 ? 20 : 3), passes_.size() - 1);
    return passes_[passes_.size() - 1 - back];
  }

  std::mt19937 random_;
  Outcomes& counts_;
  std::deque<Call> calls_;           // a call under way keeps its place
  std::vector<FencedBody> history_;  // every content
  size_t confirmed_ = 0;             // of the history: what a crash must leave, or a later one
  std::vector<FencingPass> passes_;
  int64_t epoch_ = 0, token_ = 0;
  int number_ = 0;
  int stops_ = 0;
  bool hindered_ = false;  // the outermost call
};

// ---- The file -----------------------------------------------------------------------------------

class FileWorld : public World {
 public:
  FileWorld(unsigned seed, Outcomes& counts) : World(seed, counts) {
    EXPECT_EQ(Open({}).Create(), absl::OkStatus());
  }

 private:
  FileOnDisk Open(DiskHooks hooks) { return {Fake(platter_, std::move(hooks)), "file"}; }
  FencedBody Stored() override {
    auto body = ReadFencedBody(platter_.names["file"]->now);
    EXPECT_TRUE(body.ok()) << body.status();
    return body.ok() ? *body : FencedBody();
  }
  absl::StatusOr<std::string> Do(const Call& call) override {
    auto body =
        Open({.step = [this] { Step(); }}).Replace(call.pass, call.claims ? nullptr : &call.data);
    if (!body.ok()) return body.status();
    return std::move(body->data);
  }
  bool down() const override { return platter_.crash_at >= 0; }
  void Weather() override {
    if (Any(40) == 0) hindered_ |= platter_.names.erase("file.new") > 0;  // as an operator may
    if (down() || Any(300) != 0) return;
    hindered_ = true;
    platter_.crash_at = platter_.calls;
    platter_.torn = Any(60);
  }
  // After a crash the file is one that was there before, and none from before the last OK.
  void AtRest() override {
    if (!down()) return;
    ++counts_.crashes;
    platter_ = After(platter_, Any(2) == 0, static_cast<Unsynced>(Any(3)));
    const FencedBody body = Stored();
    while (history_.size() > confirmed_ + 1 && history_.back() != body) history_.pop_back();
    EXPECT_EQ(history_.back(), body);
  }

  Platter platter_;
};

TEST(StoreModel, AFileChangesAsTheRuleSays) {
  Outcomes counts;
  for (unsigned seed = 0; seed < kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    FileWorld(seed, counts).Run(300);
  }
  EXPECT_GT(counts.crashes, kMany);
  ExpectAllSeen(counts);
}

// ---- The object ---------------------------------------------------------------------------------

class ObjectWorld : public World {
 public:
  ObjectWorld(unsigned seed, Outcomes& counts) : World(seed, counts) {
    FencedObject created(std::make_unique<StoredObjectTransport>(store_));
    EXPECT_EQ(created.Create(), absl::OkStatus());
  }

 private:
  FencedBody Stored() override { return *ReadFencedBody(*store_.body); }
  absl::StatusOr<std::string> Do(const Call& call) override {
    const auto fault = Any(2) == 0 ? PutFault::kNone : static_cast<PutFault>(Any(7));
    hindered_ |= fault != PutFault::kNone;
    FencedObject object(std::make_unique<StoredObjectTransport>(store_, fault, [this] { Step(); }));
    if (call.claims) return object.Claim(call.pass);
    const absl::Status written = object.Write(call.pass, call.data);
    if (!written.ok()) return written;
    return call.data;
  }
  void Weather() override {
    if (Any(30) == 0) store_.busy = static_cast<int>(Any(40));
    if (Any(30) == 0) store_.conflicts = static_cast<int>(Any(100));
    hindered_ |= !Calm();
    if (store_.late.empty() || Any(4) != 0) return;
    std::swap(store_.late[Any(static_cast<unsigned>(store_.late.size()))], store_.late.back());
    store_.late.back()();
    store_.late.pop_back();
  }
  bool Calm() const override { return store_.busy <= 0 && store_.conflicts <= 0; }
  bool requests_may_be_late() const override { return true; }
  void AtRest() override {
    store_.pauses.clear();
    store_.puts.clear();
  }

  StoredObject store_;
};

TEST(StoreModel, AnObjectChangesAsTheRuleSays) {
  Outcomes counts;
  for (unsigned seed = 0; seed < kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ObjectWorld(seed, counts).Run(300);
  }
  EXPECT_GT(counts.late, kMany / 100);
  ExpectAllSeen(counts);
}

}  // namespace
}  // namespace zkrecipes::fencing
