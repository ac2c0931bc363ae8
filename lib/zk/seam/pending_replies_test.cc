// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/pending_replies.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zkrecipes::zk::inline seam {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeReactor : public Reactor {
 public:
  void Post(Task task) override { tasks.push_back(std::move(task)); }
  base::BootTime Now() override { return base::BootTime(); }
  uint64_t Random() override { return 0; }
  TimerId CallAt(base::BootTime, Task) override { return 1; }
  void Cancel(TimerId) override {}
  void RunAll() {
    while (!tasks.empty()) {
      Task task = std::move(tasks.front());
      tasks.pop_front();
      std::move(task)();
    }
  }
  std::deque<Task> tasks;
};

class PendingRepliesTest : public testing::Test {
 protected:
  Handle::Done Note(const std::string& name) {
    return [this, name](const Reply& reply) {
      answers_.push_back(absl::StrCat(name, " ", CodeName(reply.code)));
    };
  }

  FakeReactor reactor_;
  std::optional<PendingReplies> pending_{&reactor_};
  std::vector<std::string> answers_;
};

TEST_F(PendingRepliesTest, AnswersARequestOnce) {
  const uint64_t id = pending_->Add(Note("a"));
  EXPECT_NE(id, 0u);
  EXPECT_EQ(pending_->size(), 1);
  pending_->Answer(id, Reply());
  pending_->Answer(id, Reply());
  EXPECT_THAT(answers_, ElementsAre("a ZOK"));
  EXPECT_EQ(pending_->size(), 0);
}

TEST_F(PendingRepliesTest, NeverAnswersInsideTheCallThatRefuses) {
  pending_->AnswerLater(Note("a"), Code::kConnectionLoss);
  const uint64_t id = pending_->Add(Note("b"));
  pending_->AnswerLater(id, Code::kBadArguments);
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(pending_->size(), 2);
  reactor_.RunAll();
  EXPECT_THAT(answers_, ElementsAre("a ZCONNECTIONLOSS", "b ZBADARGUMENTS"));
  EXPECT_EQ(pending_->size(), 0);
}

TEST_F(PendingRepliesTest, AnswersLaterEvenIfItIsDestroyedBefore) {
  pending_->AnswerLater(Note("a"), Code::kConnectionLoss);
  pending_.reset();
  reactor_.RunAll();
  EXPECT_THAT(answers_, ElementsAre("a ZCONNECTIONLOSS"));
}

TEST_F(PendingRepliesTest, AnswersEverythingInTheOrderOfSendingWhenClosed) {
  pending_->Add(Note("a"));
  pending_->Add(Note("b"));
  pending_->AnswerLater(Note("refused"), Code::kConnectionLoss);
  pending_->AnswerAll(Code::kClosing);
  EXPECT_THAT(answers_, ElementsAre("refused ZCONNECTIONLOSS", "a ZCLOSING", "b ZCLOSING"));
  EXPECT_EQ(pending_->size(), 0);
  reactor_.RunAll();
  EXPECT_EQ(answers_.size(), 3u);
}

TEST_F(PendingRepliesTest, LetsAnAnswerSendTheNextRequest) {
  uint64_t second = 0;
  const uint64_t first =
      pending_->Add([this, &second](const Reply&) { second = pending_->Add(Note("second")); });
  pending_->Answer(first, Reply());
  pending_->Answer(second, Reply());
  EXPECT_THAT(answers_, ElementsAre("second ZOK"));
}

TEST_F(PendingRepliesTest, EndsEvenIfEveryAnswerAsksAgain) {
  int asked = 0;
  Handle::Done ask_again = [this, &asked](const Reply&) {
    ++asked;
    pending_->AnswerLater(Note("again"), Code::kClosing);
  };
  pending_->AnswerLater(std::move(ask_again), Code::kConnectionLoss);
  pending_->AnswerAll(Code::kClosing);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(answers_, IsEmpty());
  reactor_.RunAll();
  EXPECT_THAT(answers_, ElementsAre("again ZCLOSING"));
}

}  // namespace
}  // namespace zkrecipes::zk::inline seam
