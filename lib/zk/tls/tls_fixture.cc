// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/tls/tls_fixture.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "lib/base/process.h"
#include "lib/zk/tls/tls_openssl.h"

namespace zkrecipes::zk::tls {
namespace {

using Key = OpenSslPointer<EVP_PKEY, EVP_PKEY_free>;
using Certificate = OpenSslPointer<X509, X509_free>;
using Bio = OpenSslPointer<BIO, BIO_free>;

void Must(bool done, const char* what) {
  if (!done) base::Die(what);
}

std::string TextOf(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<size_t>(size)};
}

template <typename F>
std::string Pem(F write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  Must(write(bio.get()) == 1, "cannot write PEM");
  return TextOf(bio.get());
}

std::string PemOf(X509* certificate) {
  return Pem([=](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

Key NewKey() { return Key(EVP_EC_gen("P-256")); }

long NextSerial() {
  static std::atomic<long> serial{1000};
  return ++serial;
}

void SetName(X509_NAME* name, const std::string& text) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
}

void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpenSslPointer<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  Must(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1,
       "cannot extend a certificate");
}

Certificate Blank(EVP_PKEY* key, const std::string& name, absl::Duration from,
                  absl::Duration until) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), NextSerial());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), absl::ToInt64Seconds(from));
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), absl::ToInt64Seconds(until));
  X509_set_pubkey(certificate.get(), key);
  SetName(X509_get_subject_name(certificate.get()), name);
  return certificate;
}

Certificate ReadCertificate(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Key ReadKey(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

}  // namespace

// ---- certificates -----------------------------------------------------------------------------

struct TestAuthority::Parts {
  Key key = NewKey();
  Certificate certificate;
};

TestAuthority::TestAuthority(const std::string& name) : parts_(std::make_unique<Parts>()) {
  parts_->certificate = Blank(parts_->key.get(), name, -absl::Hours(2), absl::Hours(24));
  X509* const own = parts_->certificate.get();
  SetName(X509_get_issuer_name(own), name);
  Extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  Extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  Extend(own, own, NID_subject_key_identifier, "hash");
  Must(X509_sign(own, parts_->key.get(), EVP_sha256()) > 0, "cannot sign a certificate");
}

TestAuthority::~TestAuthority() = default;

std::string TestAuthority::certificate() const { return PemOf(parts_->certificate.get()); }

Identity TestAuthority::Issue(const Subject& subject) {
  X509* const issuer = parts_->certificate.get();
  const Key key = NewKey();
  const Certificate certificate =
      Blank(key.get(), subject.common_name, subject.from, subject.until);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  Extend(certificate.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  Extend(certificate.get(), issuer, NID_authority_key_identifier, "keyid");
  if (!subject.names.empty()) {
    Extend(certificate.get(), issuer, NID_subject_alt_name, subject.names);
  }
  Must(X509_sign(certificate.get(), parts_->key.get(), EVP_sha256()) > 0,
       "cannot sign a certificate");
  const auto write_key = [&key](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  };
  return {PemOf(certificate.get()), Pem(write_key),
          ASN1_INTEGER_get(X509_get0_serialNumber(certificate.get()))};
}

std::string TestAuthority::ListOfRevoked(const std::vector<long>& serials,
                                         absl::Duration until) const {
  const OpenSslPointer<X509_CRL, X509_CRL_free> list(X509_CRL_new());
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(parts_->certificate.get()));
  const OpenSslPointer<ASN1_TIME, ASN1_TIME_free> now(X509_gmtime_adj(nullptr, -3600));
  const OpenSslPointer<ASN1_TIME, ASN1_TIME_free> next(
      X509_gmtime_adj(nullptr, absl::ToInt64Seconds(until)));
  X509_CRL_set1_lastUpdate(list.get(), now.get());
  X509_CRL_set1_nextUpdate(list.get(), next.get());
  for (const long serial : serials) {
    const OpenSslPointer<ASN1_INTEGER, ASN1_INTEGER_free> number(ASN1_INTEGER_new());
    ASN1_INTEGER_set(number.get(), serial);
    X509_REVOKED* const revoked = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(revoked, number.get());
    X509_REVOKED_set_revocationDate(revoked, now.get());
    X509_CRL_add0_revoked(list.get(), revoked);
  }
  X509_CRL_sort(list.get());
  Must(X509_CRL_sign(list.get(), parts_->key.get(), EVP_sha256()) > 0, "cannot sign a list");
  return Pem([&list](BIO* bio) { return PEM_write_bio_X509_CRL(bio, list.get()); });
}

std::string Encrypted(const std::string& key) {
  const Key read = ReadKey(key);
  return Pem([&read](BIO* bio) {
    char password[] = "secret";
    return PEM_write_bio_PKCS8PrivateKey(bio, read.get(), EVP_aes_256_cbc(), password, 6, nullptr,
                                         nullptr);
  });
}

// ---- files ------------------------------------------------------------------------------------

TlsFiles::TlsFiles() {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/zkrecipes-tls-XXXXXX";
  Must(mkdtemp(pattern.data()) != nullptr, "cannot make a directory");
  directory_ = pattern;
}

TlsFiles::~TlsFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string TlsFiles::Write(const std::string& name, const std::string& text) const {
  const std::string path = this->path(name);
  std::ofstream out(path + ".new", std::ios::trunc | std::ios::binary);
  out << text;
  out.close();
  std::filesystem::rename(path + ".new", path);
  return path;
}

// ---- a server ---------------------------------------------------------------------------------

struct TlsServerEnd::Parts {
  OpenSslPointer<SSL_CTX, SSL_CTX_free> context;
  OpenSslPointer<SSL, SSL_free> ssl;
  BIO* in = nullptr;
  BIO* out = nullptr;
};

TlsServerEnd::TlsServerEnd(const Identity& identity, const Options& options)
    : parts_(std::make_unique<Parts>()) {
  parts_->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const context = parts_->context.get();
  const Certificate own = ReadCertificate(identity.certificate);
  Must(SSL_CTX_use_certificate(context, own.get()) == 1 &&
           SSL_CTX_use_PrivateKey(context, ReadKey(identity.key).get()) == 1,
       "no identity");
  if (options.only_1_2) SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  if (!options.ciphers.empty()) {
    Must(SSL_CTX_set_cipher_list(context, options.ciphers.c_str()) == 1, "no such cipher");
    SSL_CTX_set_dh_auto(context, 1);
  }
  if (options.only_1_1) {
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_1_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
  }
  if (!options.client_authority.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context),
                        ReadCertificate(options.client_authority).get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  parts_->ssl.reset(SSL_new(context));
  parts_->in = BIO_new(BIO_s_mem());
  parts_->out = BIO_new(BIO_s_mem());
  SSL_set_bio(parts_->ssl.get(), parts_->in, parts_->out);
  SSL_set_accept_state(parts_->ssl.get());
}

TlsServerEnd::~TlsServerEnd() = default;

bool TlsServerEnd::established() const { return SSL_is_init_finished(parts_->ssl.get()) == 1; }

std::string TlsServerEnd::name_asked_for() const {
  const char* name = SSL_get_servername(parts_->ssl.get(), TLSEXT_NAMETYPE_host_name);
  return name == nullptr ? "" : name;
}

bool TlsServerEnd::client_has_certificate() const {
  return SSL_get0_peer_certificate(parts_->ssl.get()) != nullptr;
}

void TlsServerEnd::Hear(absl::string_view sealed) {
  BIO_write(parts_->in, sealed.data(), static_cast<int>(sealed.size()));
  Go();
}

void TlsServerEnd::Go() {
  char bytes[4096];
  for (;;) {
    ERR_clear_error();
    const int got = SSL_read(parts_->ssl.get(), bytes, sizeof(bytes));
    if (got <= 0) {
      const int why = SSL_get_error(parts_->ssl.get(), got);
      if (why != SSL_ERROR_WANT_READ && failure_.empty()) failure_ = TakeOpenSslError();
      return;
    }
    heard_.append(bytes, static_cast<size_t>(got));
  }
}

std::string TlsServerEnd::TakeUnsent() {
  std::string unsent = TextOf(parts_->out);
  BIO_reset(parts_->out);
  return unsent;
}

void TlsServerEnd::Say(absl::string_view bytes) {
  SSL_write(parts_->ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
}

void TlsServerEnd::ChangeKeys() {
  SSL_key_update(parts_->ssl.get(), SSL_KEY_UPDATE_REQUESTED);
  SSL_do_handshake(parts_->ssl.get());
}

void TlsServerEnd::SayGoodbye() { SSL_shutdown(parts_->ssl.get()); }

}  // namespace zkrecipes::zk::tls
