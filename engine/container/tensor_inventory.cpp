#include "container/tensor_inventory.h"

#include <limits>
#include <utility>

namespace waste {

namespace {

constexpr std::string_view kEmbedding = "model.embed_tokens.weight";

// Collects specs under one name prefix.
class Collector {
public:
    Collector(std::vector<TensorSpec>& specs, std::string prefix)
        : m_specs(specs)
        , m_prefix(std::move(prefix))
    {
    }

    void matrix(std::string_view name, std::uint32_t rows, std::uint32_t columns)
    {
        add(name, {.shape = TensorSpec::Shape::Matrix, .rows = rows, .columns = columns});
    }
    void vector(std::string_view name, std::uint64_t size)
    {
        add(name, {.shape = TensorSpec::Shape::Vector, .columns = size, .f32Only = true});
    }
    void optionalVector(std::string_view name, std::uint64_t size)
    {
        add(name, {.shape = TensorSpec::Shape::Vector, .columns = size, .f32Only = true, .optional = true});
    }
    void elements(std::string_view name, std::uint64_t count)
    {
        add(name, {.shape = TensorSpec::Shape::Elements, .columns = count, .f32Only = true});
    }
    void atLeast(std::string_view name, std::uint64_t count)
    {
        add(name, {.shape = TensorSpec::Shape::AtLeast, .columns = count, .f32Only = true});
    }

private:
    void add(std::string_view name, TensorSpec spec)
    {
        spec.name = m_prefix + std::string(name);
        m_specs.push_back(std::move(spec));
    }

    std::vector<TensorSpec>& m_specs;
    const std::string m_prefix;
};

void addKda(Collector&& add, const ModelConfig& config)
{
    const std::uint32_t width = config.kdaWidth();
    const std::uint32_t hidden = config.hiddenSize;
    for (const char* name : {"q_proj.weight", "k_proj.weight", "v_proj.weight"})
        add.matrix(name, width, hidden);
    for (const char* name : {"q_conv1d.weight", "k_conv1d.weight", "v_conv1d.weight"})
        add.atLeast(name, std::uint64_t{width} * config.convolutionKernel);
    add.matrix("f_a_proj.weight", config.kdaHeadDim, hidden);
    add.matrix("f_b_proj.weight", width, config.kdaHeadDim);
    add.matrix("b_proj.weight", config.kdaHeadCount, hidden);
    add.atLeast("A_log", config.kdaHeadCount);
    add.atLeast("dt_bias", width);
    if (config.kdaFullRankGate) {
        add.matrix("g_proj.weight", width, hidden);
    } else {
        add.matrix("g_a_proj.weight", config.kdaHeadDim, hidden);
        add.matrix("g_b_proj.weight", width, config.kdaHeadDim);
    }
    add.vector("o_norm.weight", config.kdaHeadDim);
    add.matrix("o_proj.weight", hidden, width);
}

void addMla(Collector&& add, const ModelConfig& config)
{
    const std::uint32_t heads = config.attentionHeadCount;
    const std::uint32_t hidden = config.hiddenSize;
    const std::uint32_t queryRows = heads * (config.nopeDim + config.ropeDim);
    if (config.queryLoraRank == 0) {
        add.matrix("q_proj.weight", queryRows, hidden);
    } else {
        add.matrix("q_a_proj.weight", config.queryLoraRank, hidden);
        add.vector("q_a_layernorm.weight", config.queryLoraRank);
        add.matrix("q_b_proj.weight", queryRows, config.queryLoraRank);
    }
    add.matrix("kv_a_proj_with_mqa.weight", config.latentRowWidth(), hidden);
    add.vector("kv_a_layernorm.weight", config.kvLoraRank);
    add.matrix("kv_b_proj.weight", heads * (config.nopeDim + config.valueDim), config.kvLoraRank);
    if (config.attentionOutputGate)
        add.matrix("g_proj.weight", heads * config.valueDim, hidden);
    add.matrix("o_proj.weight", hidden, heads * config.valueDim);
}

void addFeedForward(Collector&& add, std::uint32_t width, std::uint32_t hidden)
{
    add.matrix("gate_proj.weight", width, hidden);
    add.matrix("up_proj.weight", width, hidden);
    add.matrix("down_proj.weight", hidden, width);
}

void addMoe(std::vector<TensorSpec>& specs, const std::string& prefix, const ModelConfig& config)
{
    Collector add(specs, prefix);
    add.matrix("gate.weight", config.expertCount, config.hiddenSize);
    add.optionalVector("gate.e_score_correction_bias", config.expertCount);
    addFeedForward(Collector(specs, prefix + "shared_experts."), config.sharedWidth(), config.hiddenSize);
    if (config.latentWidth == 0)
        return;
    add.matrix("routed_expert_down_proj.weight", config.latentWidth, config.hiddenSize);
    add.matrix("routed_expert_up_proj.weight", config.hiddenSize, config.latentWidth);
    if (config.latentNorm)
        add.vector("routed_expert_norm.weight", config.latentWidth);
}

void addLayer(std::vector<TensorSpec>& specs, const ModelConfig& config, std::uint32_t layer)
{
    const std::string prefix = layerPrefix(config, layer);
    Collector add(specs, prefix);
    add.vector("input_layernorm.weight", config.hiddenSize);
    add.vector("post_attention_layernorm.weight", config.hiddenSize);
    if (config.residualBlockSize != 0)
        for (const char* name : {"self_attention_res_norm.weight", "self_attention_res_proj.weight",
                 "mlp_res_norm.weight", "mlp_res_proj.weight"})
            add.elements(name, config.hiddenSize);
    if (config.isKda(layer))
        addKda(Collector(specs, prefix + "self_attn."), config);
    else
        addMla(Collector(specs, prefix + "self_attn."), config);
    if (config.isMoe(layer))
        addMoe(specs, prefix + "block_sparse_moe.", config);
    else
        addFeedForward(Collector(specs, prefix + "mlp."), config.denseWidth, config.hiddenSize);
}

} // namespace

bool TensorSpec::accepts(std::span<const std::uint64_t> stored) const
{
    if (shape == Shape::Matrix)
        return stored.size() == 2 && stored[0] == rows && stored[1] == columns;
    if (shape == Shape::Vector)
        return stored.size() == 1 && stored[0] == columns;
    std::uint64_t elements = 1;
    for (const std::uint64_t dimension : stored) {
        if (dimension != 0 && elements > std::numeric_limits<std::uint64_t>::max() / dimension)
            return false;
        elements *= dimension;
    }
    return shape == Shape::Elements ? elements == columns : elements >= columns;
}

std::string TensorSpec::describe() const
{
    switch (shape) {
    case Shape::Matrix:
        return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
    case Shape::Vector:
        return "[" + std::to_string(columns) + "]";
    case Shape::Elements:
        return std::to_string(columns) + " elements";
    case Shape::AtLeast:
        return "at least " + std::to_string(columns) + " elements";
    }
    return {};
}

std::string embeddingName(const ModelConfig& config)
{
    return config.tensorPrefix + std::string(kEmbedding);
}

std::string layerPrefix(const ModelConfig& config, std::uint32_t layer)
{
    return config.tensorPrefix + "model.layers." + std::to_string(layer) + ".";
}

std::vector<TensorSpec> requiredTensors(const ModelConfig& config)
{
    std::vector<TensorSpec> specs;
    Collector add(specs, config.tensorPrefix);
    add.matrix(kEmbedding, config.vocabularySize, config.hiddenSize);
    add.matrix("lm_head.weight", config.vocabularySize, config.hiddenSize);
    add.vector("model.norm.weight", config.hiddenSize);
    if (config.residualBlockSize != 0) {
        add.elements("model.output_attn_res_norm.weight", config.hiddenSize);
        add.elements("model.output_attn_res_proj.weight", config.hiddenSize);
    }
    for (std::uint32_t layer = 0; layer < config.layerCount; ++layer)
        addLayer(specs, config, layer);
    return specs;
}

ParameterCount countParameters(const ModelConfig& config)
{
    ParameterCount count;
    for (const TensorSpec& spec : requiredTensors(config))
        count.total += std::uint64_t{spec.rows} * spec.columns;
    const std::uint64_t embedding = std::uint64_t{config.vocabularySize} * config.hiddenSize;
    count.active = count.total - embedding + config.hiddenSize;
    const std::uint64_t expert = std::uint64_t{3} * config.expertWidth * config.expertInputWidth();
    count.total += expert * config.expertCount * config.moeLayerCount();
    count.active += expert * config.expertsPerToken * config.moeLayerCount();
    return count;
}

} // namespace waste
