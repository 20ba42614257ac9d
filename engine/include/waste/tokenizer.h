#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// Text ↔ token ids of one model, exact to the byte (spec: tokenizer).
//
// There are two encodings, and choosing the right one is a security matter. Plain: every byte is ordinary
// text, a written "<|sep|>" too; for whatever a person, a document, a tool or a model wrote. Markup: special
// texts become their single ids; only for text that our own renderer or the model's template wrote.
//
// Immutable, any thread.
class Tokenizer {
public:
    // Reads tokenizer.model (older name: tiktoken.model) and the special tokens: specials.json of a
    // container, or tokenizer_config.json of a published checkpoint. `configuredEnd` is the configuration's
    // eos_token_id; ≤ 0: not stated. Errors: Unsupported (no rank file), Io, Corrupt.
    static Result<std::shared_ptr<const Tokenizer>> open(
        const std::filesystem::path& modelDirectory, TokenId configuredEnd);
    ~Tokenizer();
    Tokenizer(const Tokenizer&) = delete;
    Tokenizer& operator=(const Tokenizer&) = delete;

    // Append the ids of `text`. Any bytes are accepted and none is lost; a text of more than 64 MiB is
    // InvalidArgument.
    Status encodePlain(std::string_view text, std::vector<TokenId>& ids) const;
    Status encodeMarkup(std::string_view text, std::vector<TokenId>& ids) const;

    // The bytes of a token: of a special one its name. Lives as long as the tokenizer. Error:
    // InvalidArgument (no such id).
    [[nodiscard]] Result<std::string_view> piece(TokenId id) const;
    // All pieces as they are, maybe ill-formed; toWellFormedText() makes them presentable.
    [[nodiscard]] Result<std::string> decode(std::span<const TokenId> ids) const;

    [[nodiscard]] bool isSpecial(TokenId id) const; // also the reserved ids without a name of their own
    [[nodiscard]] std::optional<TokenId> special(std::string_view text) const;

    [[nodiscard]] TokenId endId() const; // what ends a generation
    [[nodiscard]] std::span<const TokenId> stopIds() const; // endId() first, then [EOS] and [EOT] where named
    [[nodiscard]] std::size_t vocabularySize() const; // one more than the largest id

private:
    struct Data;
    explicit Tokenizer(std::unique_ptr<const Data> data);
    std::unique_ptr<const Data> m_data;
};

// Ids one at a time → text that is well-formed UTF-8 after every step: a character that is spread over
// several tokens comes out with its last one. What cannot become a character is U+FFFD. The concatenation
// of everything equals toWellFormedText() of the concatenated pieces.
class StreamDecoder {
public:
    explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer);

    // A special token first ends a pending character. Error: InvalidArgument (no such id).
    Result<std::string> feed(TokenId id);
    std::string flush(); // what is pending, as U+FFFD; at the end, and before a control token

private:
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::string m_pending; // at most 3 bytes: the beginning of a character
};

[[nodiscard]] bool isWellFormedText(std::string_view bytes);
// Every maximal ill-formed part becomes one U+FFFD (Unicode 3.9).
[[nodiscard]] std::string toWellFormedText(std::string_view bytes);

} // namespace waste
