#include "layers/model_weights.h"

#include "container/tensor_inventory.h"

#include <string>
#include <utility>

namespace waste {

namespace {

// Looks tensors up under a name prefix and remembers the first that is not as it must be.
class Binder {
public:
    Binder(const TensorLookup& lookup, std::string prefix, Status& status)
        : m_lookup(lookup)
        , m_prefix(std::move(prefix))
        , m_status(status)
    {
    }

    [[nodiscard]] Binder below(std::string_view prefix) const
    {
        return {m_lookup, m_prefix + std::string(prefix), m_status};
    }

    kernels::MatrixView matrix(std::string_view name, std::uint64_t rows, std::uint64_t columns)
    {
        const std::optional<kernels::MatrixView> found = m_lookup(m_prefix + std::string(name));
        if (!found) {
            refuse(name, "is missing");
            return {};
        }
        if (found->rows != rows || found->columns != columns)
            refuse(name,
                "has the shape [" + std::to_string(found->rows) + ", " + std::to_string(found->columns)
                    + "] where the configuration asks for [" + std::to_string(rows) + ", " + std::to_string(columns)
                    + "]");
        return *found;
    }

    // An f32 tensor of any shape with at least `count` values.
    const float* vector(std::string_view name, std::uint64_t count)
    {
        const float* const found = optionalVector(name, count);
        if (found == nullptr)
            refuse(name, "is missing");
        return found;
    }

    const float* optionalVector(std::string_view name, std::uint64_t count)
    {
        const std::optional<kernels::MatrixView> found = m_lookup(m_prefix + std::string(name));
        if (!found)
            return nullptr;
        if (found->format != kernels::WeightFormat::F32)
            refuse(name, "must be stored as F32");
        else if (std::uint64_t{found->rows} * found->columns < count)
            refuse(name, "has fewer than " + std::to_string(count) + " values");
        return reinterpret_cast<const float*>(found->payload);
    }

    FfnWeights feedForward(std::uint64_t width, std::uint64_t hidden)
    {
        return {matrix("gate_proj.weight", width, hidden), matrix("up_proj.weight", width, hidden),
            matrix("down_proj.weight", hidden, width)};
    }

    MixWeights mix(std::string_view name, std::uint64_t hidden)
    {
        return {vector(std::string(name) + "_norm.weight", hidden), vector(std::string(name) + "_proj.weight", hidden)};
    }

private:
    void refuse(std::string_view name, const std::string& what)
    {
        if (m_status)
            m_status = Error{ErrorCode::Corrupt, "tensor", "the tensor " + m_prefix + std::string(name) + " " + what};
    }

    const TensorLookup& m_lookup;
    const std::string m_prefix;
    Status& m_status;
};

KdaWeights bindKda(Binder binder, const ModelConfig& config)
{
    const std::uint64_t hidden = config.hiddenSize;
    const std::uint64_t width = config.kdaWidth();
    const std::uint64_t dim = config.kdaHeadDim;
    const std::uint64_t taps = width * config.convolutionKernel;
    KdaWeights weights;
    weights.query = binder.matrix("q_proj.weight", width, hidden);
    weights.key = binder.matrix("k_proj.weight", width, hidden);
    weights.value = binder.matrix("v_proj.weight", width, hidden);
    weights.queryConvolution = binder.vector("q_conv1d.weight", taps);
    weights.keyConvolution = binder.vector("k_conv1d.weight", taps);
    weights.valueConvolution = binder.vector("v_conv1d.weight", taps);
    weights.decayDown = binder.matrix("f_a_proj.weight", dim, hidden);
    weights.decayUp = binder.matrix("f_b_proj.weight", width, dim);
    weights.decayBias = binder.vector("dt_bias", width);
    weights.decayLog = binder.vector("A_log", config.kdaHeadCount);
    weights.beta = binder.matrix("b_proj.weight", config.kdaHeadCount, hidden);
    if (config.kdaFullRankGate) {
        weights.gate = binder.matrix("g_proj.weight", width, hidden);
    } else {
        weights.gateDown = binder.matrix("g_a_proj.weight", dim, hidden);
        weights.gateUp = binder.matrix("g_b_proj.weight", width, dim);
    }
    weights.outputNorm = binder.vector("o_norm.weight", dim);
    weights.output = binder.matrix("o_proj.weight", hidden, width);
    return weights;
}

MlaWeights bindMla(Binder binder, const ModelConfig& config)
{
    const std::uint64_t hidden = config.hiddenSize;
    const std::uint64_t heads = config.attentionHeadCount;
    const std::uint64_t queryRows = heads * (config.nopeDim + config.ropeDim);
    const std::uint64_t rank = config.queryLoraRank;
    MlaWeights weights;
    if (rank == 0) {
        weights.query = binder.matrix("q_proj.weight", queryRows, hidden);
    } else {
        weights.queryDown = binder.matrix("q_a_proj.weight", rank, hidden);
        weights.queryNorm = binder.vector("q_a_layernorm.weight", rank);
        weights.queryUp = binder.matrix("q_b_proj.weight", queryRows, rank);
    }
    weights.latent = binder.matrix("kv_a_proj_with_mqa.weight", config.latentRowWidth(), hidden);
    weights.latentNorm = binder.vector("kv_a_layernorm.weight", config.kvLoraRank);
    weights.expand = binder.matrix("kv_b_proj.weight", heads * (config.nopeDim + config.valueDim), config.kvLoraRank);
    if (config.attentionOutputGate)
        weights.gate = binder.matrix("g_proj.weight", heads * config.valueDim, hidden);
    weights.output = binder.matrix("o_proj.weight", hidden, heads * config.valueDim);
    return weights;
}

MoeWeights bindMoe(Binder binder, const ModelConfig& config)
{
    const std::uint64_t hidden = config.hiddenSize;
    const std::uint64_t latent = config.latentWidth;
    MoeWeights weights;
    weights.router = binder.matrix("gate.weight", config.expertCount, hidden);
    weights.routerBias = binder.optionalVector("gate.e_score_correction_bias", config.expertCount);
    weights.shared = binder.below("shared_experts.").feedForward(config.sharedWidth(), hidden);
    if (latent != 0) {
        weights.latentDown = binder.matrix("routed_expert_down_proj.weight", latent, hidden);
        weights.latentUp = binder.matrix("routed_expert_up_proj.weight", hidden, latent);
        if (config.latentNorm)
            weights.latentNorm = binder.vector("routed_expert_norm.weight", latent);
    }
    return weights;
}

LayerWeights bindLayer(Binder binder, const ModelConfig& config, std::uint32_t layer)
{
    const std::uint64_t hidden = config.hiddenSize;
    LayerWeights weights;
    weights.inputNorm = binder.vector("input_layernorm.weight", hidden);
    weights.ffnNorm = binder.vector("post_attention_layernorm.weight", hidden);
    if (config.residualBlockSize != 0) {
        weights.attentionMix = binder.mix("self_attention_res", hidden);
        weights.ffnMix = binder.mix("mlp_res", hidden);
    }
    if (config.isKda(layer))
        weights.attention = bindKda(binder.below("self_attn."), config);
    else
        weights.attention = bindMla(binder.below("self_attn."), config);
    if (config.isMoe(layer))
        weights.ffn = bindMoe(binder.below("block_sparse_moe."), config);
    else
        weights.ffn = binder.below("mlp.").feedForward(config.denseWidth, hidden);
    return weights;
}

} // namespace

Result<ModelWeights> bindWeights(const ModelConfig& config, const TensorLookup& lookup)
{
    Status status;
    Binder binder(lookup, config.tensorPrefix, status);
    ModelWeights weights;
    for (std::uint32_t layer = 0; layer < config.layerCount; ++layer)
        weights.layers.push_back(bindLayer({lookup, layerPrefix(config, layer), status}, config, layer));
    if (config.residualBlockSize != 0)
        weights.outputMix = binder.mix("model.output_attn_res", config.hiddenSize);
    weights.outputNorm = binder.vector("model.norm.weight", config.hiddenSize);
    weights.head = binder.matrix("lm_head.weight", config.vocabularySize, config.hiddenSize);
    WASTE_TRY_STATUS(std::move(status));
    return weights;
}

} // namespace waste
