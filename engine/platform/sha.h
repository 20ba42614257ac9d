#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace waste {

using Sha256Digest = std::array<std::byte, 32>;

// SHA-256 of a stream. One thread at a time.
class Sha256 {
public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    void update(std::span<const std::byte> bytes);
    // The digest of everything so far; the object then starts anew.
    Sha256Digest finish();

private:
    struct Context;
    std::unique_ptr<Context> m_context;
};

std::string hexText(std::span<const std::byte> bytes); // lower case

} // namespace waste
