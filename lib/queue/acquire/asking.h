// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_ASKING_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_ASKING_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/queue/acquire/async_call.h"
#include "lib/session/client/client_core.h"
#include "lib/session/session.h"

namespace zkrecipes::queue::acquire {

// AskUntilAnswered without blocking, for a question whose answer is a Status. Everything on the
// reactor, except Start. Keeps itself alive until it is answered.
class Asking : public session::SessionListener, public std::enable_shared_from_this<Asking> {
 public:
  using Question = std::function<void(session::Session&, AsyncCall::Done)>;

  // `done` runs once, on any thread.
  static void Start(const std::shared_ptr<internal::ClientCore>& core, const std::string& what,
                    const WaitOptions& wait, Question question, AsyncCall::Done done);

  void OnFailed(const absl::Status& why) override { End(why); }
  void OnClosing() override;

 private:
  Asking(std::shared_ptr<internal::ClientCore> core, Question question,
         std::shared_ptr<AsyncCall> call);
  void Begin(session::Session* session);  // null: the client is closed
  void Ask();
  void OnAnswer(absl::Status answer);
  void End(absl::Status answer);

  const std::shared_ptr<internal::ClientCore> core_;
  const Question question_;
  const std::shared_ptr<AsyncCall> call_;
  session::Session* session_ = nullptr;  // null before Begin, and once it has ended
  std::shared_ptr<Asking> self_;
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_ASKING_H_
