#include "checkpoint/tensor_names.h"

#include <charconv>

namespace waste {
namespace {

constexpr std::string_view kLayers = "model.layers.";
constexpr std::string_view kExperts = ".block_sparse_moe.experts.";

bool takeLiteral(std::string_view& text, std::string_view literal)
{
    if (!text.starts_with(literal))
        return false;
    text.remove_prefix(literal.size());
    return true;
}

bool takeNumber(std::string_view& text, std::uint32_t& number)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto length = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || (length > 1 && text.front() == '0'))
        return false;
    text.remove_prefix(length);
    return true;
}

std::string_view publishedTag(ExpertMatrix matrix)
{
    switch (matrix) {
    case ExpertMatrix::Gate:
        return "w1";
    case ExpertMatrix::Up:
        return "w3";
    case ExpertMatrix::Down:
        break;
    }
    return "w2";
}

} // namespace

std::optional<ExpertTensorName> parseExpertTensorName(std::string_view name, std::string_view prefix)
{
    ExpertTensorName result;
    if (!takeLiteral(name, prefix) || !takeLiteral(name, kLayers) || !takeNumber(name, result.layer)
        || !takeLiteral(name, kExperts) || !takeNumber(name, result.expert) || !takeLiteral(name, "."))
        return std::nullopt;
    for (const ExpertMatrix matrix : kExpertMatrices) {
        std::string_view rest = name;
        if (takeLiteral(rest, publishedTag(matrix)) && rest == ".weight") {
            result.matrix = matrix;
            return result;
        }
    }
    return std::nullopt;
}

std::string expertTensorName(std::string_view prefix, const ExpertTensorName& expert)
{
    std::string name(prefix);
    name += kLayers;
    name += std::to_string(expert.layer);
    name += kExperts;
    name += std::to_string(expert.expert);
    name += '.';
    name += publishedTag(expert.matrix);
    name += ".weight";
    return name;
}

std::string_view expertMatrixWord(ExpertMatrix matrix)
{
    switch (matrix) {
    case ExpertMatrix::Gate:
        return "gate";
    case ExpertMatrix::Up:
        return "up";
    case ExpertMatrix::Down:
        break;
    }
    return "down";
}

bool isExpertTensor(std::string_view name)
{
    return name.find(".experts.") != std::string_view::npos;
}

} // namespace waste
