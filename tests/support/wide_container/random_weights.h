#pragma once

#include "container/format.h"
#include "container/tensor_inventory.h"
#include "convert/random.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste::test {

// Random weights in stored form, written as fast as a disk takes them: codes are random bits, and the scales
// keep the activations of a random model of order one however many tokens follow each other.

// Codes of a trunk matrix, without a mean: Q8G or Q4G.
void fillCodes(kernels::WeightFormat format, std::span<std::byte> payload, Random& random);
// A scale per group such that the weights of the tensor have the spread that its name asks for.
std::vector<std::uint16_t> randomScales(
    kernels::WeightFormat format, const TensorSpec& spec, std::size_t count, Random& random);
// The values of a tensor that is stored as F32.
std::vector<float> randomValues(const TensorSpec& spec, std::size_t count, Random& random);

// The codebooks of one layer as records of codebooks.bin: of each matrix, every stage half as large as the one
// before it.
std::vector<std::byte> randomCodebooks(const ExpertQuant& quant, std::uint32_t firstId, Random& random);
// Everything of an expert's record but its header.
void fillExpert(const ExpertGeometry& geometry, const ExpertQuant& quant, std::span<std::byte> record, Random& random);

} // namespace waste::test
