#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/text_input.h"
#include "cli/token_text.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace waste::cli {

namespace {

class DetokenizeCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("detokenize MODEL [IDS] [OPTIONS]",
            "Prints the text of token ids, which blanks, commas or line ends separate: the argument, --file,\n"
            "or standard input.");
        declareModel(arguments, m_flags);
        arguments.positional(m_source.argument);
        arguments.group("Detokenize");
        arguments.value("--file", "FILE", into(m_source.file), "read the ids from a file (- is standard input)");
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        WASTE_TRY(const auto tokenizer, openTokenizer(m_flags));
        WASTE_TRY(const std::string list, readText(m_source, "the list of ids", context.output));
        WASTE_TRY(const std::vector<TokenId> ids, parseIdList(list));
        WASTE_TRY(const std::string bytes, tokenizer->decode(ids));
        if (context.output.isJson()) {
            nlohmann::ordered_json object;
            addText(object, "text", bytes);
            context.output.json(object);
        } else {
            context.output.text(toWellFormedText(bytes) + "\n");
        }
        return 0;
    }

private:
    EngineFlags m_flags;
    TextSource m_source;
};

} // namespace

std::unique_ptr<Command> makeDetokenizeCommand()
{
    return std::make_unique<DetokenizeCommand>();
}

} // namespace waste::cli
