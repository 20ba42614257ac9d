#include "tokens/rank_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace waste {

namespace {

constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> base64Digits()
{
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::array<std::uint8_t, 256> digits{};
    digits.fill(kNoDigit);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        digits[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return digits;
}

// Standard alphabet with padding; no other spelling of the same bytes is accepted.
bool decodeBase64(std::string_view text, std::string& bytes)
{
    static constexpr auto digits = base64Digits();
    bytes.clear();
    if (text.empty() || text.size() % 4 != 0)
        return false;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    std::uint32_t bits = 0;
    unsigned bitCount = 0;
    for (const char c : text.substr(0, text.size() - padding)) {
        const std::uint8_t digit = digits[static_cast<std::uint8_t>(c)];
        if (digit == kNoDigit)
            return false;
        bits = (bits << 6) | digit;
        bitCount += 6;
        if (bitCount >= 8) {
            bitCount -= 8;
            bytes += static_cast<char>((bits >> bitCount) & 0xFF);
        }
    }
    return (bits & ((1U << bitCount) - 1)) == 0;
}

std::optional<std::uint32_t> parseRank(std::string_view text)
{
    std::uint32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    const bool canonical = error == std::errc() && end == text.data() + text.size() && (text == "0" || text[0] != '0');
    if (!canonical || rank >= Vocabulary::kCountMax)
        return std::nullopt;
    return rank;
}

// Null, or what is wrong with the line.
const char* addLine(std::string_view line, Vocabulary& vocabulary, std::string& token)
{
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos)
        return "does not have two fields";
    if (!decodeBase64(line.substr(0, blank), token))
        return "does not begin with the base64 form of a token";
    if (token.size() > Vocabulary::kTokenBytesMax)
        return "holds a token of more than 65535 bytes";
    const auto rank = parseRank(line.substr(blank + 1));
    if (!rank)
        return "does not end in a rank below 2097152";
    switch (vocabulary.add(token, *rank)) {
    case Vocabulary::Added::TokenTwice:
        return "repeats a token";
    case Vocabulary::Added::RankTwice:
        return "repeats a rank";
    case Vocabulary::Added::Yes:
        break;
    }
    return nullptr;
}

bool hasEveryByte(const Vocabulary& vocabulary)
{
    for (int byte = 0; byte < 256; ++byte) {
        const char character = static_cast<char>(static_cast<std::uint8_t>(byte));
        if (!vocabulary.find({&character, 1}))
            return false;
    }
    return true;
}

} // namespace

Result<Vocabulary> parseRankFile(std::string_view content, std::string_view file)
{
    const auto corrupt = [&](const std::string& what) {
        return Error{ErrorCode::Corrupt, "", std::string(file) + what + "; copy the file again from the release"};
    };
    if (content.size() > kRankFileBytesMax)
        return corrupt(" is larger than 64 MiB");

    Vocabulary vocabulary(static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n')) + 1);
    std::string token;
    std::size_t lineNumber = 0;
    while (!content.empty()) {
        ++lineNumber;
        const std::size_t end = std::min(content.find('\n'), content.size());
        std::string_view line = content.substr(0, end);
        content.remove_prefix(std::min(end + 1, content.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (line.empty())
            continue;
        if (const char* fault = addLine(line, vocabulary, token))
            return corrupt(": line " + std::to_string(lineNumber) + ' ' + fault);
    }
    if (vocabulary.count() != vocabulary.rankEnd())
        return corrupt(": its ranks have gaps");
    if (!hasEveryByte(vocabulary))
        return corrupt(": not every single byte is a token");
    return vocabulary;
}

} // namespace waste
