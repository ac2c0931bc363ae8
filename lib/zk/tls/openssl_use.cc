// SPDX-License-Identifier: Apache-2.0

#include <openssl/crypto.h>

#include <atomic>

#include "lib/base/process.h"
#include "lib/zk/tls/tls_openssl.h"

namespace zkrecipes::zk::tls {
namespace {

// Of this process: those that its parent's threads had when it was forked never end.
struct Uses {
  std::atomic<int> now = 0;
  std::atomic<bool> over = false;
};

thread_local int on_this_thread = 0;

// OpenSSL calls it before it frees anything. A use that began before is waited for: none blocks for
// longer than it takes to read the client's files. A later one finds that it is over. Those of this
// thread would be waited for in vain: it exits in a signal handler.
void EndUses() {
  Uses& uses = base::OfThisProcess<Uses>();
  uses.over = true;
  for (int now; (now = uses.now) > on_this_thread;) uses.now.wait(now);
}

}  // namespace

OpenSslUse::OpenSslUse() {
  Uses& uses = base::OfThisProcess<Uses>();
  if (uses.over) return;
  ++on_this_thread;
  ++uses.now;  // before the question: EndUses does it in the other order
  ok_ = !uses.over;
  if (!ok_) End();
}

void OpenSslUse::End() {
  Uses& uses = base::OfThisProcess<Uses>();
  --uses.now;
  --on_this_thread;
  if (uses.over) uses.now.notify_all();
}

bool OpenSslUse::Initialise() {
  // Without its own cleaning up, if this is the first to ask for it.
  static const bool done =
      OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1 && OPENSSL_atexit(EndUses) == 1;
  return done;
}

}  // namespace zkrecipes::zk::tls
