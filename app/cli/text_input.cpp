#include "cli/text_input.h"

#include "waste/console.h"
#include "waste/files.h"
#include "waste/tokenizer.h"

#include <array>
#include <charconv>
#include <utility>

namespace waste::cli {

namespace {

Error tooLarge(std::string_view name, std::uint64_t bytesMax)
{
    return {ErrorCode::InvalidArgument, "",
        std::string(name) + " is larger than " + std::to_string(bytesMax >> 20)
            + " MiB, which is the most that is read"};
}

Result<std::string> readWholeStandardInput(std::uint64_t bytesMax)
{
    std::string text;
    std::array<char, 65536> buffer{};
    while (true) {
        WASTE_TRY(const std::size_t count, readStandardInput(buffer));
        if (count == 0)
            return text;
        if (text.size() + count > bytesMax)
            return tooLarge("standard input", bytesMax);
        text.append(buffer.data(), count);
    }
}

void removeTrailingLineEnds(std::string& text)
{
    const auto last = text.find_last_not_of("\r\n");
    text.resize(last == std::string::npos ? 0 : last + 1);
}

} // namespace

Result<std::string> readInput(const std::string& file, std::uint64_t bytesMax)
{
    if (file == "-")
        return readWholeStandardInput(bytesMax);
    std::error_code ignored;
    if (std::filesystem::is_fifo(pathOfText(file), ignored))
        return Error{
            ErrorCode::InvalidArgument, "", file + " is a pipe; let standard input read it and give - as the file"};
    auto text = readFile(pathOfText(file), bytesMax);
    if (!text && text.error().code == ErrorCode::Corrupt)
        return tooLarge(file, bytesMax);
    return text;
}

Result<std::string> readText(const TextSource& source, std::string_view what, Output& output)
{
    if (source.argument && source.file)
        return Error{ErrorCode::InvalidArgument, "",
            "there are two texts: '" + *source.argument + "' and --file " + *source.file};
    std::string text;
    if (source.argument && *source.argument != "-") {
        text = *source.argument;
    } else {
        if (!source.argument && !source.file && isTerminal(ConsoleStream::Input))
            return Error{ErrorCode::InvalidArgument, "",
                std::string(what) + " is missing: give it as an argument, with --file, or on standard input"};
        WASTE_TRY(text, readInput(source.file.value_or("-")));
        removeTrailingLineEnds(text);
    }
    if (isWellFormedText(text))
        return text;
    output.warning("the text is not valid UTF-8; what is wrong in it is read as U+FFFD");
    return toWellFormedText(text);
}

Result<std::vector<TokenId>> parseIdList(std::string_view text)
{
    static constexpr std::string_view kSeparators = " ,\t\r\n";
    std::vector<TokenId> ids;
    for (std::size_t begin = 0; (begin = text.find_first_not_of(kSeparators, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
        const std::string_view item = text.substr(begin, end - begin);
        TokenId id = 0;
        const auto read = std::from_chars(item.data(), item.data() + item.size(), id);
        if (read.ec != std::errc{} || read.ptr != item.data() + item.size() || id < 0)
            return Error{ErrorCode::InvalidArgument, "",
                "'" + toWellFormedText(item.substr(0, 40)) + "' is not a token id (a decimal number)"};
        ids.push_back(id);
        begin = end;
    }
    return ids;
}

Result<std::vector<TokenId>> readIdList(const std::string& listOrFile)
{
    if (!listOrFile.starts_with('@'))
        return parseIdList(listOrFile);
    WASTE_TRY(const std::string text, readInput(listOrFile.substr(1)));
    return parseIdList(text);
}

} // namespace waste::cli
