#include "waste/tokenizer.h"

#include "platform/path_text.h"
#include "platform/small_file.h"
#include "tokens/byte_pairs.h"
#include "tokens/outer_cuts.h"
#include "tokens/pre_tokenizer.h"
#include "tokens/rank_file.h"
#include "tokens/special_tokens.h"
#include "tokens/vocabulary.h"

#include <algorithm>

namespace waste {

struct Tokenizer::Data {
    Vocabulary vocabulary;
    SpecialTokens specials;
    std::vector<TokenId> stopIds; // the end id first
};

namespace {

constexpr std::size_t kTextBytesMax = std::size_t{64} << 20;

using Encode = void (*)(const Vocabulary&, const SpecialTokens&, std::string_view, std::vector<TokenId>&);

void encodePlainPart(
    const Vocabulary& vocabulary, const SpecialTokens&, std::string_view part, std::vector<TokenId>& ids)
{
    PreTokenizer pieces(part);
    while (const auto piece = pieces.next())
        appendPieceTokens(vocabulary, *piece, ids);
}

// Text between two special tokens ends where the second begins, also for the rules that look ahead.
void encodeMarkupPart(
    const Vocabulary& vocabulary, const SpecialTokens& specials, std::string_view part, std::vector<TokenId>& ids)
{
    std::size_t offset = 0;
    while (const auto special = specials.findIn(part, offset)) {
        encodePlainPart(vocabulary, specials, part.substr(offset, special->offset - offset), ids);
        ids.push_back(special->id);
        offset = special->offset + special->length;
    }
    encodePlainPart(vocabulary, specials, part.substr(offset), ids);
}

Status encodeParts(Encode encode, const Vocabulary& vocabulary, const SpecialTokens& specials, std::string_view text,
    std::vector<TokenId>& ids)
{
    if (text.size() > kTextBytesMax)
        return Error{ErrorCode::InvalidArgument, "text_too_long", "a text of more than 64 MiB cannot be encoded"};
    OuterCuts parts(text);
    while (const auto part = parts.next())
        encode(vocabulary, specials, *part, ids);
    return {};
}

Result<Vocabulary> readVocabulary(const std::filesystem::path& directory)
{
    for (const char* name : {"tokenizer.model", "tiktoken.model"}) {
        const std::filesystem::path file = directory / name;
        auto content = readSmallFile(file, kRankFileBytesMax);
        if (content)
            return parseRankFile(*content, textFromPath(file));
        if (content.error().code != ErrorCode::NotFound)
            return std::move(content.error());
    }
    return Error{ErrorCode::Unsupported, "no_tokenizer",
        textFromPath(directory) + ": this container has no tokenizer; raw token ids still work"};
}

Result<SpecialTokens> readSpecials(const std::filesystem::path& directory, std::size_t rankedCount)
{
    using Parse = Result<SpecialTokens> (*)(std::string_view, std::string_view, std::size_t);
    struct Source {
        const char* name;
        Parse parse;
    };
    const Source sources[] = {{"specials.json", SpecialTokens::fromSpecialsFile},
        {"tokenizer_config.json", SpecialTokens::fromTokenizerConfig}};
    for (const Source& source : sources) {
        const std::filesystem::path file = directory / source.name;
        auto content = readSmallFile(file, kSpecialsFileBytesMax);
        if (content)
            return source.parse(*content, textFromPath(file), rankedCount);
        if (content.error().code != ErrorCode::NotFound)
            return std::move(content.error());
    }
    return SpecialTokens::unnamed(rankedCount);
}

} // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::open(
    const std::filesystem::path& modelDirectory, TokenId configuredEnd)
{
    WASTE_TRY(auto vocabulary, readVocabulary(modelDirectory));
    WASTE_TRY(auto specials, readSpecials(modelDirectory, vocabulary.count()));

    // The third id of the block ends a message in every model that does not say so itself.
    const TokenId end = configuredEnd > 0 ? configuredEnd : static_cast<TokenId>(vocabulary.count() + 2);
    std::vector<TokenId> stopIds{end};
    for (const std::string_view name : {"[EOS]", "[EOT]"}) {
        if (const auto id = specials.find(name); id && *id != end)
            stopIds.push_back(*id);
    }
    auto data = std::make_unique<const Data>(Data{std::move(vocabulary), std::move(specials), std::move(stopIds)});
    return std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(data)));
}

Tokenizer::Tokenizer(std::unique_ptr<const Data> data)
    : m_data(std::move(data))
{
}

Tokenizer::~Tokenizer() = default;

Status Tokenizer::encodePlain(std::string_view text, std::vector<TokenId>& ids) const
{
    return encodeParts(encodePlainPart, m_data->vocabulary, m_data->specials, text, ids);
}

Status Tokenizer::encodeMarkup(std::string_view text, std::vector<TokenId>& ids) const
{
    return encodeParts(encodeMarkupPart, m_data->vocabulary, m_data->specials, text, ids);
}

Result<std::string_view> Tokenizer::piece(TokenId id) const
{
    if (id >= 0 && static_cast<std::size_t>(id) < m_data->vocabulary.count())
        return m_data->vocabulary.bytes(id);
    if (const auto name = m_data->specials.text(id))
        return *name;
    return Error{ErrorCode::InvalidArgument, "invalid_token_id", "invalid token id " + std::to_string(id)};
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids) const
{
    std::string bytes;
    for (const TokenId id : ids) {
        WASTE_TRY(const std::string_view token, piece(id));
        bytes += token;
    }
    return bytes;
}

bool Tokenizer::isSpecial(TokenId id) const
{
    return m_data->specials.text(id).has_value();
}

std::optional<TokenId> Tokenizer::special(std::string_view text) const
{
    return m_data->specials.find(text);
}

TokenId Tokenizer::endId() const
{
    return m_data->stopIds.front();
}

std::span<const TokenId> Tokenizer::stopIds() const
{
    return m_data->stopIds;
}

std::size_t Tokenizer::vocabularySize() const
{
    return static_cast<std::size_t>(m_data->specials.largestId()) + 1;
}

} // namespace waste
