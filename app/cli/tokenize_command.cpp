#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/text_input.h"
#include "cli/token_text.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

class TokenizeCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("tokenize MODEL [TEXT] [OPTIONS]",
            "Prints the token ids of a text: the argument, --file, or standard input.");
        declareModel(arguments, m_flags);
        arguments.positional(m_source.argument);
        arguments.group("Tokenize");
        arguments.value("--file", "FILE", into(m_source.file), "read the text from a file (- is standard input)");
        arguments
            .flag(
                "--markup", [this] { m_plain = false; }, "recognise special tokens")
            .byDefault("yes");
        arguments.flag("--plain", m_plain, "every byte is ordinary text");
        arguments.flag("--pieces", m_pieces, "one token a line, with its text");
        arguments.flag("--count", m_count, "only how many there are");
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto tokenizer, openTokenizer(m_flags));
        WASTE_TRY(const std::string text, readText(m_source, "the text", context.output));
        std::vector<TokenId> ids;
        WASTE_TRY_STATUS(m_plain ? tokenizer->encodePlain(text, ids) : tokenizer->encodeMarkup(text, ids));
        if (context.output.isJson()) {
            WASTE_TRY(const ordered_json object, json(*tokenizer, ids));
            context.output.json(object);
            return 0;
        }
        WASTE_TRY(const std::string lines, lines(*tokenizer, ids));
        context.output.text(lines);
        return 0;
    }

private:
    [[nodiscard]] Result<ordered_json> json(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) const
    {
        ordered_json object = {{"n", ids.size()}};
        if (m_count)
            return object;
        object["ids"] = ids;
        if (!m_pieces)
            return object;
        object["pieces"] = ordered_json::array();
        for (const TokenId id : ids) {
            WASTE_TRY(const std::string_view piece, tokenizer.piece(id));
            ordered_json entry = {{"id", id}};
            addText(entry, "piece", piece);
            object["pieces"].push_back(std::move(entry));
        }
        return object;
    }

    [[nodiscard]] Result<std::string> lines(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) const
    {
        if (m_count)
            return std::to_string(ids.size()) + "\n";
        std::string text;
        for (const TokenId id : ids) {
            if (m_pieces) {
                WASTE_TRY(const std::string_view piece, tokenizer.piece(id));
                text += std::to_string(id) + " " + jsonString(piece) + "\n";
            } else {
                text += (text.empty() ? "" : " ") + std::to_string(id);
            }
        }
        return m_pieces ? text : text + "\n";
    }

    EngineFlags m_flags;
    TextSource m_source;
    bool m_plain = false;
    bool m_pieces = false;
    bool m_count = false;
};

} // namespace

std::unique_ptr<Command> makeTokenizeCommand()
{
    return std::make_unique<TokenizeCommand>();
}

} // namespace waste::cli
