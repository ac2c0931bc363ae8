// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"
#include "lib/zk/tls/tls_openssl.h"

namespace zkrecipes::zk::tls {
namespace {

constexpr off_t kMostBytes = 16 << 20;

using Bio = OpenSslPointer<BIO, BIO_free>;
using Context = OpenSslPointer<SSL_CTX, SSL_CTX_free>;

struct File {
  const char* option;
  const std::string& path;
};

// None of it is in a message.
struct Text {
  ~Text() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  Text() = default;
  Text(Text&&) = default;
  Text& operator=(Text&&) = delete;
  std::vector<char> bytes{};  // its memory moves with it
};

absl::Status Wrong(const File& file, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("tls: ", file.option, " \"", absl::Utf8SafeCEscape(file.path), "\": ", what));
}

absl::StatusOr<Text> ReadText(const File& file) {
  // A FIFO would make open wait, and could be read only once.
  const base::UniqueFd fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat now {};
  if (!fd.valid() || fstat(fd.get(), &now) != 0) return Wrong(file, strerror(errno));
  if (!S_ISREG(now.st_mode)) return Wrong(file, "is not a regular file");
  if (now.st_size > kMostBytes) return Wrong(file, "is larger than 16 MiB");
  Text text;
  text.bytes.resize(static_cast<size_t>(now.st_size));
  size_t size = 0;
  while (size < text.bytes.size()) {
    const ssize_t got = read(fd.get(), text.bytes.data() + size, text.bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Wrong(file, strerror(errno));
    // It was cut off since fstat; then the parser says so.
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.bytes.resize(size);
  return text;
}

// OpenSSL would ask for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

// Calls `use` with each object of a kind that the file has, in order, up to `most`; `what` names
// the kind.
template <typename T, auto kRead, auto kFree, typename F>
absl::Status ForEach(const File& file, const char* what, F use, int most = INT_MAX) {
  const absl::StatusOr<Text> text = ReadText(file);
  if (!text.ok()) return text.status();
  const Bio bio(BIO_new_mem_buf(text->bytes.data(), static_cast<int>(text->bytes.size())));
  for (int count = 0; count < most; ++count) {
    ERR_clear_error();
    const OpenSslPointer<T, kFree> object(kRead(bio.get(), nullptr, NoPassphrase, nullptr));
    if (object == nullptr) {
      const int reason = ERR_GET_REASON(ERR_peek_last_error());
      if (count > 0 && reason == PEM_R_NO_START_LINE) break;
      if (reason == PEM_R_NO_START_LINE) return Wrong(file, absl::StrCat("has no ", what));
      if (reason == PEM_R_BAD_PASSWORD_READ) {
        return Wrong(file, "is encrypted, and there is nobody to ask for a passphrase");
      }
      // What OpenSSL says of a key that it cannot make out says nothing.
      const std::string error = TakeOpenSslError();
      const bool telling = reason != ERR_R_UNSUPPORTED;
      return Wrong(file,
                   absl::StrCat("has no good ", what, telling ? ": " : "", telling ? error : ""));
    }
    if (use(object.get(), count) != 1) return Wrong(file, TakeOpenSslError());
  }
  ERR_clear_error();
  return absl::OkStatus();
}

absl::Status ReadAuthorities(const TlsOptions& options, SSL_CTX* context) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  absl::Status status = ForEach<X509, PEM_read_bio_X509, X509_free>(
      {"ca_file", options.ca_file}, "certificate",
      [store](X509* authority, int) { return X509_STORE_add_cert(store, authority); });
  if (!status.ok() || options.crl_file.empty()) return status;
  status = ForEach<X509_CRL, PEM_read_bio_X509_CRL, X509_CRL_free>(
      {"crl_file", options.crl_file}, "list of revoked certificates",
      [store](X509_CRL* list, int) { return X509_STORE_add_crl(store, list); });
  // Of each issuer in the chain there has to be a list: a missing one refuses the server.
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return status;
}

absl::Status ReadOwn(const TlsOptions& options, SSL_CTX* context) {
  if (options.certificate_file.empty()) return absl::OkStatus();
  absl::Status status = ForEach<X509, PEM_read_bio_X509, X509_free>(
      {"certificate_file", options.certificate_file}, "certificate",
      [context](X509* certificate, int i) -> int {
        if (i == 0) return SSL_CTX_use_certificate(context, certificate);
        return static_cast<int>(SSL_CTX_add1_chain_cert(context, certificate));
      });
  if (!status.ok()) return status;
  // After the certificate, to which it has to belong. A key that does not is named, where OpenSSL
  // would only say so in the handshake.
  bool fits = true;
  const File file{"key_file", options.key_file};
  status = ForEach<EVP_PKEY, PEM_read_bio_PrivateKey, EVP_PKEY_free>(
      file, "private key",
      [context, &fits](EVP_PKEY* key, int) {
        fits = X509_check_private_key(SSL_CTX_get0_certificate(context), key) == 1;
        return fits ? SSL_CTX_use_PrivateKey(context, key) : 1;
      },
      /*most=*/1);
  if (!status.ok() || fits) return status;
  return Wrong(file, "does not belong to the certificate in certificate_file");
}

// What a file was when it was read: another one of the same name differs.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t modified = 0;
  int64_t changed = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

Stamp StampOf(const std::string& path) {
  struct stat now {};
  // A file that is gone has the stamp of none: it differs from that of before, so it is read, and
  // reading it says what is wrong.
  if (path.empty() || stat(path.c_str(), &now) != 0) return {};
  return {now.st_dev, now.st_ino, now.st_size, Nanoseconds(now.st_mtim), Nanoseconds(now.st_ctim)};
}

class OpenSslContext final : public TlsContext {
 public:
  explicit OpenSslContext(TlsOptions options) : options_(std::move(options)) {}
  ~OpenSslContext() override { FreeOfOpenSsl(context_); }

  // Leaves what it has as it is if all files are as they were.
  absl::Status Refresh();
  absl::StatusOr<std::unique_ptr<TlsStream>> Connect(
      const std::vector<std::string>& hosts) override;

 private:
  using Stamps = std::array<Stamp, 4>;
  Stamps StampsNow() const {
    return {StampOf(options_.ca_file), StampOf(options_.certificate_file),
            StampOf(options_.key_file), StampOf(options_.crl_file)};
  }

  const TlsOptions options_;
  Context context_;  // null: the files cannot be used
  Stamps stamps_;    // taken before context_ was made
};

absl::StatusOr<Context> Read(const TlsOptions& options) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("tls: ", TakeOpenSslError()));
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A session of ZooKeeper's outlives connections; one of TLS would only save part of a handshake.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  // The machine's configuration may be stricter, but it does not allow what OpenSSL's level 0
  // would: ciphers by which no server has a certificate, or by which nothing is encrypted.
  if (SSL_CTX_get_security_level(context.get()) < 1) SSL_CTX_set_security_level(context.get(), 1);
  if (absl::Status status = ReadAuthorities(options, context.get()); !status.ok()) return status;
  if (absl::Status status = ReadOwn(options, context.get()); !status.ok()) return status;
  return context;
}

absl::Status IsGone() {
  return absl::FailedPreconditionError("tls: this process exits, and OpenSSL is cleaned up");
}

absl::Status OpenSslContext::Refresh() {
  // Taken before the files are read: one that changes in between is read once more at the next
  // attempt.
  const Stamps now = StampsNow();
  if (context_ != nullptr && now == stamps_) return absl::OkStatus();
  // From here on the files of before count no more: a certificate that was revoked meanwhile must
  // not be accepted because the new list cannot be read.
  context_ = nullptr;
  auto context = Read(options_);
  if (!context.ok()) return context.status();
  context_ = *std::move(context);
  stamps_ = now;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TlsStream>> OpenSslContext::Connect(
    const std::vector<std::string>& hosts) {
  const OpenSslUse use;
  if (!use.ok()) return IsGone();
  if (absl::Status status = Refresh(); !status.ok()) return status;
  const bool named = !options_.server_name.empty();
  return NewOpenSslStream(context_.get(),
                          named ? std::vector<std::string>{options_.server_name} : hosts,
                          !options_.certificate_file.empty());
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsContext>> TlsContext::Open(const TlsOptions& options) {
  const OpenSslUse use;
  if (!use.ok() || !OpenSslUse::Initialise()) return IsGone();
  auto context = std::make_shared<OpenSslContext>(options);
  if (absl::Status status = context->Refresh(); !status.ok()) return status;
  return context;
}

}  // namespace zkrecipes::zk::tls
