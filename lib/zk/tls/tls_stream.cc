// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <openssl/bio.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/zk/tls/tls_openssl.h"

namespace zkrecipes::zk::tls {
namespace {

constexpr size_t kMostNames = 4;  // of a certificate, in a message
constexpr size_t kShown = 64;     // of each, and of what is no TLS
constexpr size_t kMostAnswers = 64 << 10;

// Memory of OpenSSL's, as both sides of a stream. Never at its end: there may always come more.
class OpenSslStream final : public TlsStream {
 public:
  OpenSslStream(SSL* ssl, bool has_certificate)
      : ssl_(ssl), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())), own_(has_certificate) {
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, OnVerified);
    SSL_set_connect_state(ssl_.get());
  }
  ~OpenSslStream() override { FreeOfOpenSsl(ssl_); }
  // The names that a server may have. False: one of them is no name.
  bool Expect(const std::vector<std::string>& hosts);

  State state() const override { return state_; }
  const std::string& failure() const override { return failure_; }
  void Hear(absl::string_view sealed) override;
  size_t Read(char* bytes, size_t room) override;
  void Say(absl::string_view bytes) override;
  absl::string_view unsent() const override { return sealed_; }
  void Sent(size_t size) override;

  void ShakeHands();

 private:
  static int OnVerified(int accepted, X509_STORE_CTX* chain);
  void NoteUnverified(X509_STORE_CTX* chain);
  void Collect();
  void CollectAnswers();
  void Fail(std::string what_it_did);
  std::string WhatItDid();

  OpenSslPointer<SSL, SSL_free> ssl_;  // owns the two
  BIO* const in_;
  BIO* const out_;
  const bool own_;  // this client shows a certificate
  State state_ = State::kHandshake;
  std::string expected_;    // for messages: "\"zk1\""
  std::string unverified_;  // what is wrong with the server's certificate
  std::string first_;       // what the server said first
  std::string failure_;
  std::string sealed_;
  size_t answers_ = 0;  // in it at most: what the server made OpenSSL say
};

bool IsAddress(const std::string& host) {
  in6_addr any;
  return inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

// Without what names are written with and certificates are not: an interface, a dot at the end.
std::string Bare(std::string host) {
  host = host.substr(0, host.find('%'));
  if (host.size() > 1 && host.back() == '.') host.pop_back();
  return host;
}

bool OpenSslStream::Expect(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) {
    std::string bare = Bare(host);
    // To OpenSSL none at all would be any, and one with a dot in front any below, however deep.
    if (bare.empty() || bare[0] == '.') return false;
    (IsAddress(bare) ? addresses : names).push_back(std::move(bare));
  }
  // OpenSSL would want both. Who lists a server by a name expects a certificate of that name.
  if (!names.empty()) addresses.clear();
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl_.get());
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  bool taken = !names.empty() || !addresses.empty();
  for (const std::string& name : names) {
    taken = taken && X509_VERIFY_PARAM_add1_host(rules, name.c_str(), name.size()) == 1;
  }
  if (!names.empty()) {
    taken = taken && SSL_set_tlsext_host_name(ssl_.get(), names.front().c_str()) == 1;
  } else if (taken) {
    taken = X509_VERIFY_PARAM_set1_ip_asc(rules, addresses.front().c_str()) == 1;
    addresses.resize(1);
  }
  names.insert(names.end(), addresses.begin(), addresses.end());
  expected_ = absl::StrCat("\"", absl::StrJoin(names, "\" or \""), "\"");
  return taken;
}

void OpenSslStream::Hear(absl::string_view sealed) {
  const OpenSslUse use;
  if (!use.ok()) return Fail(kOpenSslIsGone);
  // Kept for the message of a port that turns out to speak something else.
  if (first_.size() < kShown) first_ += std::string(sealed.substr(0, kShown - first_.size()));
  BIO_write(in_, sealed.data(), static_cast<int>(sealed.size()));
  if (state_ == State::kHandshake) ShakeHands();
}

void OpenSslStream::ShakeHands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1 && SSL_get0_peer_certificate(ssl_.get()) == nullptr) {
    Fail("showed no certificate");  // whatever OpenSSL thinks of that
  } else if (result == 1) {
    state_ = State::kEstablished;
    // Only reading can be wanted: memory always has room for what is written.
  } else if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
    Fail(WhatItDid());
  }
  Collect();
}

size_t OpenSslStream::Read(char* bytes, size_t room) {
  const OpenSslUse use;
  if (!use.ok()) Fail(kOpenSslIsGone);
  size_t read = 0;
  while (state_ == State::kEstablished && read < room) {
    size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), bytes + read, room - read, &got);
    read += got;
    if (result == 1) continue;
    // SSL_get_error looks at this thread's queue of errors, which was emptied before the call: an
    // error of another connection would be taken for this one's.
    const int why = SSL_get_error(ssl_.get(), result);
    if (why == SSL_ERROR_WANT_READ) break;
    if (why == SSL_ERROR_ZERO_RETURN) {
      state_ = State::kClosed;
    } else {
      Fail(WhatItDid());
    }
  }
  if (use.ok()) CollectAnswers();
  return read;
}

void OpenSslStream::Say(absl::string_view bytes) {
  const OpenSslUse use;
  if (!use.ok()) return Fail(kOpenSslIsGone);
  size_t written = 0;
  ERR_clear_error();
  // Takes all of it: memory has room.
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) != 1 ||
      written != bytes.size()) {
    Fail(WhatItDid());
  }
  Collect();
}

// What OpenSSL has written.
void OpenSslStream::Collect() {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out_, &bytes);
  if (size <= 0) return;
  sealed_.append(bytes, static_cast<size_t>(size));
  // Copied out at once, and so the memory of OpenSSL's stays small.
  BIO_reset(out_);
}

// Each change of keys that a server asks for is answered, and so is each renegotiation, by a
// refusal: without a bound one that does not read would make them pile up for ever.
void OpenSslStream::CollectAnswers() {
  const size_t before = sealed_.size();
  Collect();
  answers_ += sealed_.size() - before;
  if (answers_ <= kMostAnswers || state_ == State::kFailed) return;
  Fail("makes this client answer, but does not read the answers");
}

void OpenSslStream::Sent(size_t size) {
  sealed_.erase(0, size);
  answers_ = std::min(answers_, sealed_.size());
}

void OpenSslStream::Fail(std::string what_it_did) {
  state_ = State::kFailed;
  failure_ = std::move(what_it_did);
}

std::string OpenSslStream::WhatItDid() {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  const std::string error = TakeOpenSslError();
  if (!unverified_.empty()) return absl::StrCat("has a certificate that ", unverified_);
  if (reason >= SSL_AD_REASON_OFFSET) {  // the server's own
    return absl::StrCat("refused the TLS connection: \"", error, "\"",
                        own_ ? "" : " (this client has no certificate)");
  }
  // A server that has begun with a handshake or an alert speaks TLS, whatever came later.
  const bool speaks_tls =
      absl::StartsWith(first_, "\x16\x03") || absl::StartsWith(first_, "\x15\x03");
  if (!first_.empty() && !speaks_tls) {
    return absl::StrCat("does not speak TLS: it says \"",
                        absl::CHexEscape(first_.substr(0, kShown / 2)), "\"");
  }
  return absl::StrCat("broke the rules of TLS: ", error);
}

// The names of a certificate that count: `"zk1", "10.0.0.1"`.
std::string NamesOf(X509* certificate) {
  const OpenSslPointer<GENERAL_NAMES, GENERAL_NAMES_free> all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> names;
  const int count = all == nullptr ? 0 : sk_GENERAL_NAME_num(all.get());
  for (int i = 0; i < count && names.size() <= kMostNames; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* value = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
    const auto size = static_cast<size_t>(ASN1_STRING_length(value));
    char text[INET6_ADDRSTRLEN];
    if (name->type == GEN_DNS) {
      names.push_back(absl::CHexEscape(absl::string_view(bytes, std::min(size, kShown))));
    } else if (inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text)) != nullptr &&
               (size == 4 || size == 16)) {
      names.push_back(text);
    }
  }
  if (names.empty()) return "no host";
  if (names.size() > kMostNames) names.back() = "...";
  return absl::StrCat("\"", absl::StrJoin(names, "\", \""), "\"");
}

void OpenSslStream::NoteUnverified(X509_STORE_CTX* chain) {
  const int error = X509_STORE_CTX_get_error(chain);
  if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    unverified_ = absl::StrCat("is not for ", expected_, " but for ",
                               NamesOf(X509_STORE_CTX_get0_cert(chain)));
    return;
  }
  const int depth = X509_STORE_CTX_get_error_depth(chain);
  unverified_ = absl::StrCat("is not accepted: ", X509_verify_cert_error_string(error),
                             depth > 0 ? " (of an issuer)" : "");
}

int OpenSslStream::OnVerified(int accepted, X509_STORE_CTX* chain) {
  if (accepted != 1) {
    const auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    static_cast<OpenSslStream*>(SSL_get_app_data(ssl))->NoteUnverified(chain);
  }
  // OpenSSL's verdict stands; this only notes the reason, which the handshake's error does not
  // name.
  return accepted;
}

}  // namespace

std::string TakeOpenSslError() {
  const char* const text = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return text == nullptr ? "an unknown error" : text;
}

absl::StatusOr<std::unique_ptr<TlsStream>> NewOpenSslStream(SSL_CTX* context,
                                                            const std::vector<std::string>& hosts,
                                                            bool has_certificate) {
  SSL* const ssl = SSL_new(context);
  if (ssl == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("tls: ", TakeOpenSslError()));
  }
  // It owns `ssl` from here on.
  auto stream = std::make_unique<OpenSslStream>(ssl, has_certificate);
  if (!stream->Expect(hosts)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls: \"", absl::StrJoin(hosts, "\", \""), "\" is no name of a server"));
  }
  // So the client's first message is there to be sent: a server says nothing before it.
  stream->ShakeHands();
  return stream;
}

}  // namespace zkrecipes::zk::tls
