// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/permits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::queue::machine {
namespace {

std::string Node(Mode mode, int number) {
  return NodePrefix(Dialect::kCurator, mode, absl::StrFormat("guid%011d", number)) +
         absl::StrFormat("%010d", number);
}
std::string Permit(int number) { return Node(Mode::kPermit, number); }
std::string Lock(int number) { return Node(Mode::kExclusive, number); }

using Texts = std::vector<absl::string_view>;

TEST(Permits, AreGrantedToTheFirstOfTheQueue) {
  const zk::Names children = {Permit(9), Permit(3), Permit(4), "other"};
  EXPECT_TRUE(ViewPermits(children, Permit(3), 2).granted);
  EXPECT_TRUE(ViewPermits(children, Permit(4), 2).granted);
  EXPECT_FALSE(ViewPermits(children, Permit(9), 2).granted);
  EXPECT_TRUE(ViewPermits(children, Permit(9), 3).granted);
}

TEST(Permits, OfOneThatIsNotListedAreNotSaidToBe) {
  EXPECT_FALSE(ViewPermits({Permit(1)}, Permit(2), 2).listed);
  EXPECT_FALSE(ViewPermits({Permit(1)}, "other", 2).sequence.has_value());
}

TEST(Permits, LetTheFirstWaiterWatchAllThatHold) {
  const zk::Names children = {Permit(5), Permit(1), Permit(2), Permit(3)};
  const PermitView view = ViewPermits(children, Permit(3), 2);
  EXPECT_EQ(view.watched, (Texts{Permit(1), Permit(2)}));
  EXPECT_EQ(view.in_front, Texts{Permit(2)});
  EXPECT_FALSE(view.behind_waiter);
  EXPECT_TRUE(view.followed);
}

TEST(Permits, LetTheOthersWatchTheOneInFront) {
  const zk::Names children = {Permit(1), Permit(2), Permit(3), Permit(4)};
  const PermitView view = ViewPermits(children, Permit(4), 2);
  EXPECT_EQ(view.watched, Texts{Permit(3)});
  EXPECT_EQ(view.in_front, (Texts{Permit(2), Permit(3)}));
  EXPECT_TRUE(view.behind_waiter);
  EXPECT_FALSE(view.followed);
}

TEST(Permits, WaitForALockInFront) {
  const zk::Names children = {Permit(1), Lock(2), Permit(3), Permit(4)};
  const PermitView third = ViewPermits(children, Permit(3), 5);
  EXPECT_FALSE(third.granted);
  EXPECT_EQ(third.watched, Texts{Lock(2)});
  EXPECT_FALSE(third.behind_waiter);
  EXPECT_EQ(third.in_front, Texts{Lock(2)});
  const PermitView fourth = ViewPermits(children, Permit(4), 5);
  EXPECT_EQ(fourth.watched, Texts{Permit(3)});
  EXPECT_TRUE(fourth.behind_waiter);
}

TEST(Permits, AreNotFollowedByALock) {
  EXPECT_FALSE(ViewPermits({Permit(1), Lock(2), Permit(3)}, Permit(1), 2).followed);
}

TEST(Permits, DoNotCountMembersOfAGroup) {
  const zk::Names children = {Node(Mode::kMember, 1), Permit(2)};
  EXPECT_TRUE(ViewPermits(children, Permit(2), 1).granted);
  EXPECT_FALSE(TailMustWaitForPermit({Node(Mode::kMember, 1)}, 1));
}

TEST(Permits, AreBusyAtTheTailBehindALockOrThatMany) {
  EXPECT_FALSE(TailMustWaitForPermit({Permit(1)}, 2));
  EXPECT_TRUE(TailMustWaitForPermit({Permit(1), Permit(2)}, 2));
  EXPECT_TRUE(TailMustWaitForPermit({Lock(1)}, 2));
}

TEST(Permits, AreADecimalNumber) {
  EXPECT_EQ(ParsePermits("3"), 3u);
  EXPECT_EQ(ParsePermits("1000"), 1000u);
  for (const char* wrong : {"", "0", "03", "1001", "99999999999", "+3", "3 ", "x"}) {
    EXPECT_FALSE(ParsePermits(wrong).has_value()) << wrong;
  }
}

// ---- Nobody misses a wake-up --------------------------------------------------------------------

// What contenders do with a PermitView. Each of these left out, somebody waits for ever.
struct Rules {
  bool lets_the_next_know = true;
  bool looks_at_the_version = true;
};

// One server, and contenders whose requests, answers and events are each on their way: every order
// that one connection allows. A contender's requests are answered in order, and it hears of a watch
// before it hears of what was asked behind the change.
class World {
 public:
  World(size_t permits, const Rules& rules) : permits_(permits), rules_(rules) {}

  void Join() {
    contenders_.emplace_back();
    contenders_.back().requests = {{Request::kCreate, ""}, {Request::kList, ""}};
  }
  // One that has joined gives its permit back, or gives up.
  void Leave(size_t index) {
    Contender& c = contenders_[index];
    if (!c.exists) return;
    c.exists = false;
    c.left = true;
    Fire(c.name, /*deleted=*/true);
  }
  bool CanSend(size_t index) const { return !Gone(index) && !contenders_[index].requests.empty(); }
  bool CanHear(size_t index) const { return !Gone(index) && !contenders_[index].inbox.empty(); }
  void Send(size_t index);
  void Hear(size_t index);

  size_t size() const { return contenders_.size(); }
  bool Granted(size_t index) const { return !Gone(index) && contenders_[index].granted; }
  size_t Holders() const {
    return static_cast<size_t>(std::ranges::count_if(
        contenders_, [](const Contender& c) { return c.exists && c.granted; }));
  }
  size_t Queued() const {
    return static_cast<size_t>(std::ranges::count_if(contenders_, &Contender::exists));
  }
  int lists() const { return lists_; }

 private:
  struct Request {
    enum Kind { kCreate, kList, kWatch, kWatchData, kSet } kind;
    std::string name;
  };
  struct Message {
    enum Kind { kListed, kArmed, kDeleted, kChanged } kind;
    std::string name;
    int version = 0;  // of kArmed; -1: it is gone
    zk::Names children = {};
  };
  struct Contender {
    std::string name;
    std::vector<Request> requests = {};
    std::vector<Message> inbox = {};
    bool exists = false;
    bool left = false;
    int version = 0;
    // At the server: for a deletion, and for a change, too.
    std::vector<std::string> watches = {};
    std::vector<std::string> data_watches = {};
    // What it knows.
    bool granted = false;
    bool listing = true;
    std::vector<std::string> watched = {};
    bool behind_waiter = false;
    bool armed = false;
    int known = 0;  // version of the one that it is behind
  };

  bool Gone(size_t index) const { return contenders_[index].left; }
  void Fire(const std::string& name, bool deleted) {
    for (Contender& c : contenders_) {
      const bool of_data = std::erase(c.data_watches, name) > 0;
      const bool of_node = deleted && std::erase(c.watches, name) > 0;
      if (of_data || of_node) {
        c.inbox.push_back({deleted ? Message::kDeleted : Message::kChanged, name});
      }
    }
  }
  void List(Contender& c) {
    if (c.listing) return;
    c.listing = true;
    c.requests.push_back({Request::kList, ""});
  }
  void OnListed(Contender& c, const zk::Names& children);

  const size_t permits_;
  const Rules rules_;
  std::vector<Contender> contenders_;
  int created_ = 0;
  int lists_ = 0;
};

void World::Send(size_t index) {
  Contender& c = contenders_[index];
  const Request request = c.requests.front();
  c.requests.erase(c.requests.begin());
  const auto other = std::ranges::find(contenders_, request.name, &Contender::name);
  switch (request.kind) {
    case Request::kCreate:
      c.name = Permit(++created_);
      c.exists = true;
      return;
    case Request::kList: {
      ++lists_;
      zk::Names children;
      for (const Contender& one : contenders_) {
        if (one.exists) children.push_back(one.name);
      }
      return c.inbox.push_back({Message::kListed, "", 0, std::move(children)});
    }
    case Request::kWatch:
    case Request::kWatchData:
      if (other->exists) {
        (request.kind == Request::kWatch ? c.watches : c.data_watches).push_back(request.name);
      }
      return c.inbox.push_back(
          {Message::kArmed, request.name, other->exists ? other->version : -1});
    case Request::kSet:
      ++c.version;
      return Fire(c.name, /*deleted=*/false);
  }
}

void World::Hear(size_t index) {
  Contender& c = contenders_[index];
  const Message message = c.inbox.front();
  c.inbox.erase(c.inbox.begin());
  if (message.kind == Message::kListed) return OnListed(c, message.children);
  if (c.granted || std::ranges::count(c.watched, message.name) == 0) return;
  switch (message.kind) {
    case Message::kListed:
      return;
    case Message::kArmed:
      if (message.version < 0) return List(c);
      c.armed = true;
      if (c.behind_waiter && rules_.looks_at_the_version && message.version != c.known) {
        c.known = message.version;
        List(c);
      }
      return;
    case Message::kChanged:
      ++c.known;
      [[fallthrough]];
    case Message::kDeleted:
      c.armed = false;
      return List(c);
  }
}

void World::OnListed(Contender& c, const zk::Names& children) {
  c.listing = false;
  const PermitView view = ViewPermits(children, c.name, permits_);
  ASSERT_TRUE(view.listed);
  if (view.granted) {
    c.granted = true;
    if (view.followed && rules_.lets_the_next_know) c.requests.push_back({Request::kSet, c.name});
    return;
  }
  const std::vector<std::string> watched(view.watched.begin(), view.watched.end());
  const bool same = view.behind_waiter && c.behind_waiter && watched == c.watched;
  if (same && c.armed) return;  // listed behind its watch
  if (!same) c.known = 0;
  c.watched = watched;
  c.behind_waiter = view.behind_waiter;
  c.armed = false;
  const auto kind = view.behind_waiter ? Request::kWatchData : Request::kWatch;
  for (const std::string& name : watched) c.requests.push_back({kind, name});
}

uint64_t Random(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Until nothing is on its way, in an order of `state`'s choice.
void CalmDown(World& world, uint64_t& state) {
  for (;;) {
    std::vector<size_t> moves;
    for (size_t i = 0; i < world.size(); ++i) {
      if (world.CanSend(i)) moves.push_back(2 * i);
      if (world.CanHear(i)) moves.push_back(2 * i + 1);
    }
    if (moves.empty()) return;
    const size_t move = moves[Random(state) % moves.size()];
    move % 2 == 0 ? world.Send(move / 2) : world.Hear(move / 2);
  }
}

// How many of so many schedules end with a permit that is free while somebody waits.
int Starved(size_t permits, const Rules& rules, int schedules) {
  int starved = 0;
  for (int schedule = 0; schedule < schedules; ++schedule) {
    uint64_t state = static_cast<uint64_t>(schedule);
    World world(permits, rules);
    for (int step = 0; step < 60; ++step) {
      const uint64_t what = Random(state) % 10;
      if (what == 0 && world.size() < 8) world.Join();
      if (world.size() == 0) continue;
      const size_t who = Random(state) % world.size();
      if (what == 1 && world.Granted(who)) world.Leave(who);
      if (what == 2 && Random(state) % 4 == 0) world.Leave(who);
      if (what > 5 && world.CanSend(who)) world.Send(who);
      if (what > 2 && what < 6 && world.CanHear(who)) world.Hear(who);
      EXPECT_LE(world.Holders(), permits);
    }
    CalmDown(world, state);
    EXPECT_LE(world.Holders(), permits);
    if (world.Holders() < std::min(permits, world.Queued())) ++starved;
  }
  return starved;
}

TEST(PermitsWorld, LeavesNoPermitFreeWhileSomebodyWaits) {
  for (const size_t permits : {1, 2, 3}) EXPECT_EQ(Starved(permits, {}, 10000), 0) << permits;
}

TEST(PermitsWorld, StarvesSomebodyIfTheNextIsNotLetKnow) {
  EXPECT_GT(Starved(2, {.lets_the_next_know = false}, 10000), 0);
}

TEST(PermitsWorld, StarvesSomebodyIfAChangeBeforeTheWatchIsMissed) {
  EXPECT_GT(Starved(2, {.looks_at_the_version = false}, 10000), 0);
}

TEST(PermitsWorld, WakesOneWaiterAReleaseAndLetsOneMoreKnow) {
  uint64_t state = 1;
  World world(3, {});
  for (int i = 0; i < 30; ++i) world.Join();
  CalmDown(world, state);
  for (int releases = 0; releases < 20; ++releases) {
    const int before = world.lists();
    size_t holder = 0;
    while (!world.Granted(holder)) ++holder;
    world.Leave(holder);
    CalmDown(world, state);
    EXPECT_LE(world.lists() - before, 2);
    EXPECT_EQ(world.Holders(), 3u);
  }
}

}  // namespace
}  // namespace zkrecipes::queue::machine
