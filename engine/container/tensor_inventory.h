#pragma once

#include "container/model_config.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// One dense tensor of the text model (spec: container 8, model 3).
struct TensorSpec {
    // How a stored shape must agree with `rows` and `columns`.
    enum class Shape : std::uint8_t {
        Matrix, // exactly [rows, columns]
        Vector, // exactly [columns]
        Elements, // any shape of `columns` elements
        AtLeast, // any shape of at least `columns` elements; only the first `columns` are used
    };
    std::string name = {}; // with the tensor prefix
    Shape shape = Shape::Matrix;
    std::uint32_t rows = 1;
    std::uint64_t columns = 0; // a convolution of the widest legal model has more than 2^32 elements
    bool f32Only = false; // norms, biases, convolutions and the like must be F32; matrices may be any format
    bool optional = false; // absent means zero

    [[nodiscard]] bool accepts(std::span<const std::uint64_t> stored) const;
    [[nodiscard]] std::string describe() const; // "[72, 136]", "[136]", "at least 3 elements"
};

// Every tensor that the configuration makes necessary, model level first, then layer by layer. The engine
// keeps these resident, except an embedding table in a quantised format, which it reads row by row.
std::vector<TensorSpec> requiredTensors(const ModelConfig& config);

std::string embeddingName(const ModelConfig& config); // prefix + "model.embed_tokens.weight"
std::string layerPrefix(const ModelConfig& config, std::uint32_t layer); // prefix + "model.layers.{layer}."

// Weights by number: all of them, and those that take part in one token (its experts, one embedding row).
struct ParameterCount {
    std::uint64_t total = 0;
    std::uint64_t active = 0;
};
ParameterCount countParameters(const ModelConfig& config);

} // namespace waste
