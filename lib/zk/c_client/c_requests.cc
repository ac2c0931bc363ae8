// SPDX-License-Identifier: Apache-2.0
//
// Requests to the C client and its completions. A request's number is its completion's context.

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "lib/zk/c_client/c_handle.h"

namespace zkrecipes::zk::c_client {
namespace {

const void* ToContext(uint64_t id) { return reinterpret_cast<const void*>(id); }
uint64_t FromContext(const void* context) { return reinterpret_cast<uint64_t>(context); }

}  // namespace

struct Completions {
  static void Answer(const void* context, Reply&& reply) {
    CHandle* const handle = CurrentBoxes()->owner;
    if (!OutcomeUnknown(reply.code)) handle->Served();
    handle->pending_.Answer(FromContext(context), std::move(reply));
  }

  static void Nothing(int rc, const void* context) {
    Answer(context, Reply{.code = static_cast<Code>(rc)});
  }

  static void Created(int rc, const char* path, const ::Stat* stat, const void* context) {
    Reply reply{.code = static_cast<Code>(rc)};
    if (path != nullptr) reply.path = path;
    if (stat != nullptr) reply.stat = FromC(*stat);
    Answer(context, std::move(reply));
  }

  static void Stated(int rc, const ::Stat* stat, const void* context) {
    Created(rc, /*path=*/nullptr, stat, context);
  }

  static void Data(int rc, const char* value, int size, const ::Stat* stat, const void* context) {
    Reply reply{.code = static_cast<Code>(rc)};
    if (value != nullptr && size > 0) reply.data.assign(value, static_cast<size_t>(size));
    if (stat != nullptr) reply.stat = FromC(*stat);
    Answer(context, std::move(reply));
  }

  static void Children(int rc, const String_vector* names, const void* context) {
    Reply reply{.code = static_cast<Code>(rc)};
    if (names != nullptr) reply.children = Names(names->data, names->data + names->count);
    Answer(context, std::move(reply));
  }

  static void Acl(int rc, ACL_vector* acl, ::Stat* stat, const void* context) {
    Reply reply{.code = static_cast<Code>(rc)};
    if (acl != nullptr) reply.acl = FromC(*acl);
    if (stat != nullptr) reply.stat = FromC(*stat);
    Answer(context, std::move(reply));
  }

  // The results that the C client has filled in live until here.
  static void Together(int rc, const void* context) {
    Reply reply{.code = static_cast<Code>(rc)};
    // Taken out before the answer, which may send the next multi.
    const auto results = CurrentBoxes()->owner->multis_.extract(FromContext(context));
    if (!results.empty() && !OutcomeUnknown(reply.code)) {
      for (const zoo_op_result_t& one : results.mapped()) {
        // Of one that is done, what the server repeats of errors means nothing.
        reply.codes.push_back(rc == ZOK ? Code::kOk : static_cast<Code>(one.err));
      }
    }
    Answer(context, std::move(reply));
  }
};

// Hands one request to the C client; returns what it says: ZOK means that an answer will come.
struct CHandle::Issue {
  CHandle* handle;
  const void* context;

  int operator()(const Create& r) const {
    if (!r.acl.empty()) return Make(r, CAcl(r.acl));
    return Make(r, handle->acl_);
  }
  int operator()(const Delete& r) const {
    return zoo_adelete(zh(), r.path.c_str(), r.version, Completions::Nothing, context);
  }
  int operator()(const SetData& r) const {
    return zoo_aset(zh(), r.path.c_str(), r.data.data(), static_cast<int>(r.data.size()), r.version,
                    Completions::Stated, context);
  }
  int operator()(const Get& r) const {
    return zoo_aget(zh(), r.path.c_str(), /*watch=*/0, Completions::Data, context);
  }
  int operator()(const GetChildren& r) const {
    return zoo_aget_children(zh(), r.path.c_str(), /*watch=*/0, Completions::Children, context);
  }
  int operator()(const WatchNode& r) const {
    // watch=1: the handle's own watcher and context, so that all watches are one (fn, ctx) pair.
    return zoo_aget_children(zh(), r.path.c_str(), /*watch=*/1, Completions::Children, context);
  }
  int operator()(const WatchExists& r) const {
    return zoo_aexists(zh(), r.path.c_str(), /*watch=*/1, Completions::Stated, context);
  }
  int operator()(const RemoveWatches& r) const {
    const auto type = r.kind == WatchKind::kNode ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA;
    // The parameter's type is a slip of the C client's: it wants the function itself.
    const auto done = reinterpret_cast<void_completion_t*>(&Completions::Nothing);
    return zoo_aremove_all_watches(zh(), r.path.c_str(), type, /*local=*/0, done, context);
  }

  int operator()(const GetAcl& r) const {
    return zoo_aget_acl(zh(), r.path.c_str(), Completions::Acl, context);
  }
  int operator()(const Multi& r) const {
    CMulti multi(r, handle->acl_);
    if (!multi.valid()) return ZBADARGUMENTS;
    const uint64_t id = FromContext(context);
    std::vector<zoo_op_result_t>& results = handle->multis_[id];
    results.resize(r.ops.size());
    const int rc =
        zoo_amulti(zh(), multi.size(), multi.ops(), results.data(), Completions::Together, context);
    // No completion will come for it.
    if (rc != ZOK) handle->multis_.erase(id);
    return rc;
  }

  int Make(const Create& r, const CAcl& acl) const {
    return zoo_acreate2(zh(), r.path.c_str(), r.data.data(), static_cast<int>(r.data.size()),
                        acl.get(), static_cast<int>(r.mode), Completions::Created, context);
  }
  zhandle_t* zh() const { return handle->zh_; }
};

void CHandle::Send(const Request& request, Done done) {
  if (!connected_) {
    const bool over = ended_ || zh_ == nullptr;
    return pending_.AnswerLater(std::move(done), over ? end_code_ : Code::kConnectionLoss);
  }
  // So the loop flushes it in this round, although nothing has come from the server.
  set_touched(true);
  // Numbered before it is sent: the completion finds the callback by this number.
  const uint64_t id = pending_.Add(std::move(done));
  int rc;
  {
    const BoxScope through(&boxes_);
    rc = std::visit(Issue{this, ToContext(id)}, request);
  }
  // Refused: no completion will come, so it is answered here.
  if (rc != ZOK) pending_.AnswerLater(id, static_cast<Code>(rc));
}

}  // namespace zkrecipes::zk::c_client
