#pragma once

#include <cstdint>
#include <filesystem>

namespace waste::test {

enum class TinyFamily : std::uint8_t { KimiLinear, KimiK3 };

// A published checkpoint with random weights, small enough to make thousands of. Everything that the family
// has is there: KDA and MLA layers with an irregular end, a dense first layer, experts (MXFP4 for K3, BF16
// else), and for K3 Attention Residuals, a latent space, both gates and a padded A_log.
struct TinyCheckpoint {
    TinyFamily family = TinyFamily::KimiLinear;
    std::uint64_t seed = 1;
    std::uint32_t hiddenSize = 136; // one whole and one partial group of 128
    std::uint32_t layerCount = 4; // at least 3
    std::uint32_t expertCount = 6;
    std::uint32_t expertsPerToken = 2;
    std::uint32_t expertWidth = 96; // one whole and one partial block of 64 rows; for K3 a multiple of 32
    std::uint32_t latentWidth = 0; // K3 only, a multiple of 32; 0: 64
    std::uint32_t shardCount = 2; // 1: a lone model.safetensors without an index
    // Shards are cut as published ones: by name and size, so that a layer, and a weight and its scales, may lie in two.
    // There are fewer of them than asked for where tensors are larger than a part. Otherwise a layer's experts are
    // together, and other tensors dealt out in turn.
    bool cutAnywhere = false;
    bool tokenizer = false; // 256 bytes and the special tokens; the vocabulary is 512 in any case
    bool vision = false; // K3 only
};

// Makes the directory and its files. The same values give the same bytes on every machine.
void writeTinyCheckpoint(const std::filesystem::path& directory, const TinyCheckpoint& options = {});

} // namespace waste::test
