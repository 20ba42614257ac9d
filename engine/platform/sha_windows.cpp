#if defined(_WIN32)

#include "platform/sha.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "platform/windows_api.h"
// after windows.h
#include <bcrypt.h>

namespace waste {
namespace {

constexpr std::size_t kUpdateBytesMax = std::size_t{1} << 30; // sizes of one call are 32 bits

// Hashing fails for lack of memory alone.
void require(NTSTATUS status)
{
    if (status < 0)
        throw std::bad_alloc();
}

} // namespace

struct Sha256::Context {
    Context()
    {
        require(BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA256_ALGORITHM, nullptr, 0));
        // Reusable: it starts anew when it is finished.
        const NTSTATUS status = BCryptCreateHash(provider, &hash, nullptr, 0, nullptr, 0, BCRYPT_HASH_REUSABLE_FLAG);
        if (status < 0)
            BCryptCloseAlgorithmProvider(provider, 0);
        require(status);
    }
    ~Context()
    {
        BCryptDestroyHash(hash);
        BCryptCloseAlgorithmProvider(provider, 0);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    BCRYPT_ALG_HANDLE provider = nullptr;
    BCRYPT_HASH_HANDLE hash = nullptr;
};

Sha256::Sha256()
    : m_context(std::make_unique<Context>())
{
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(bytes.size(), kUpdateBytesMax));
        // The system only reads them, whatever the type says.
        auto* start = reinterpret_cast<UCHAR*>(const_cast<std::byte*>(part.data()));
        require(BCryptHashData(m_context->hash, start, static_cast<ULONG>(part.size()), 0));
        bytes = bytes.subspan(part.size());
    }
}

Sha256Digest Sha256::finish()
{
    Sha256Digest digest = {};
    auto* target = reinterpret_cast<UCHAR*>(digest.data());
    require(BCryptFinishHash(m_context->hash, target, static_cast<ULONG>(digest.size()), 0));
    return digest;
}

} // namespace waste

#endif
