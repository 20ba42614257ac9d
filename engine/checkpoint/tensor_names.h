#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waste {

// The three matrices of a routed expert, in the order of a container's record. Published tags: w1 is
// gate, w3 is up, w2 is down (spec: model 3.5).
enum class ExpertMatrix : std::uint8_t { Gate, Up, Down };
inline constexpr ExpertMatrix kExpertMatrices[] = {ExpertMatrix::Gate, ExpertMatrix::Up, ExpertMatrix::Down};

struct ExpertTensorName {
    std::uint32_t layer = 0;
    std::uint32_t expert = 0;
    ExpertMatrix matrix = ExpertMatrix::Gate;
    friend bool operator==(const ExpertTensorName&, const ExpertTensorName&) = default;
};

// `{prefix}model.layers.{l}.block_sparse_moe.experts.{e}.{w1|w3|w2}.weight`; empty for any other name,
// also for numbers that are not written the one canonical way ("01", "+1").
std::optional<ExpertTensorName> parseExpertTensorName(std::string_view name, std::string_view prefix);
std::string expertTensorName(std::string_view prefix, const ExpertTensorName& expert);

// "gate", "up", "down".
std::string_view expertMatrixWord(ExpertMatrix matrix);

// Whether a tensor belongs to a routed expert, whatever its prefix ("shared_experts." does not).
bool isExpertTensor(std::string_view name);

} // namespace waste
