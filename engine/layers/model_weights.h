#pragma once

#include "container/model_config.h"
#include "experts/expert_source.h"
#include "kernels/weight_views.h"
#include "waste/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace waste {

// Weights of one model by their place in the forward pass. Everything here is a view of memory that
// someone else keeps (the trunk's arena, or a checkpoint's tensors as f32). h hidden size, C KDA width,
// H heads, D head dimension; shapes [out][in].

struct KdaWeights { // spec: model 3.3
    kernels::MatrixView query, key, value; // [C][h]
    const float* queryConvolution = nullptr; // [C][kernel]; the last tap multiplies the newest sample
    const float* keyConvolution = nullptr;
    const float* valueConvolution = nullptr;
    kernels::MatrixView decayDown, decayUp; // f_a [D][h], f_b [C][D]
    const float* decayBias = nullptr; // dt_bias [C]
    const float* decayLog = nullptr; // A_log [H]; a file may hold more
    kernels::MatrixView beta; // b_proj [H][h]
    kernels::MatrixView gate; // g_proj [C][h], or the low-rank pair:
    kernels::MatrixView gateDown, gateUp; // g_a [D][h], g_b [C][D]
    const float* outputNorm = nullptr; // [D], of every head
    kernels::MatrixView output; // [h][C]
};

struct MlaWeights { // spec: model 3.4
    kernels::MatrixView query; // [nh(n+r)][h], or the factorised pair:
    kernels::MatrixView queryDown, queryUp; // [qr][h], [nh(n+r)][qr]
    const float* queryNorm = nullptr; // [qr]
    kernels::MatrixView latent; // kv_a_proj_with_mqa [kl+r][h]
    const float* latentNorm = nullptr; // [kl]
    kernels::MatrixView expand; // kv_b_proj [nh(n+v)][kl]
    kernels::MatrixView gate; // [nh·v][h], with an output gate only
    kernels::MatrixView output; // [h][nh·v]
};

using FfnWeights = DenseExpert; // gate, up [width][in], down [out][width]

struct MoeWeights { // spec: model 3.5
    kernels::MatrixView router; // [E][h]
    const float* routerBias = nullptr; // [E]; null = 0
    FfnWeights shared;
    kernels::MatrixView latentDown, latentUp; // [lat][h], [h][lat]; latent experts only
    const float* latentNorm = nullptr; // [lat]; null: no norm
};

// Norm and projection of one Mix (spec: model 6.3).
struct MixWeights {
    const float* norm = nullptr; // [h]
    const float* projection = nullptr; // [h]
};

struct LayerWeights {
    const float* inputNorm = nullptr; // [h]
    const float* ffnNorm = nullptr; // post_attention_layernorm [h]
    MixWeights attentionMix, ffnMix; // Attention Residuals only
    std::variant<KdaWeights, MlaWeights> attention;
    std::variant<FfnWeights, MoeWeights> ffn;
};

struct ModelWeights {
    std::vector<LayerWeights> layers;
    MixWeights outputMix; // Attention Residuals only
    const float* outputNorm = nullptr; // model.norm [h]
    kernels::MatrixView head; // lm_head [vocabulary][h]
};

// A tensor in memory by its full name; rows are the product of all dimensions but the last. Empty: not there.
using TensorLookup = std::function<std::optional<kernels::MatrixView>(std::string_view name)>;

// Finds every tensor that the configuration asks for, except the embedding and the routed experts.
// Errors: Corrupt naming the tensor that is absent, of another shape, or not f32 where it must be.
Result<ModelWeights> bindWeights(const ModelConfig& config, const TensorLookup& lookup);

} // namespace waste
