#if !defined(_WIN32)

#include "platform/sha.h"

#include <openssl/evp.h>

#include <new>

namespace waste {
namespace {

// Hashing fails for lack of memory alone.
void require(int success)
{
    if (success != 1)
        throw std::bad_alloc();
}

} // namespace

struct Sha256::Context {
    Context()
        : digest(EVP_MD_CTX_new())
    {
        require(digest != nullptr ? 1 : 0);
    }
    ~Context() { EVP_MD_CTX_free(digest); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    EVP_MD_CTX* digest;
};

Sha256::Sha256()
    : m_context(std::make_unique<Context>())
{
    require(EVP_DigestInit_ex(m_context->digest, EVP_sha256(), nullptr));
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes)
{
    require(EVP_DigestUpdate(m_context->digest, bytes.data(), bytes.size()));
}

Sha256Digest Sha256::finish()
{
    Sha256Digest digest = {};
    require(EVP_DigestFinal_ex(m_context->digest, reinterpret_cast<unsigned char*>(digest.data()), nullptr));
    require(EVP_DigestInit_ex(m_context->digest, EVP_sha256(), nullptr));
    return digest;
}

} // namespace waste

#endif
