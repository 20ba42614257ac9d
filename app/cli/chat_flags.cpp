#include "cli/chat_flags.h"

#include "waste/tokenizer.h"

namespace waste::cli {

RenderOptions ChatFlags::renderOptions() const
{
    RenderOptions options;
    options.thinking = thinking;
    options.effort = effort;
    return options;
}

void declareChatFlags(Arguments& arguments, ChatFlags& flags)
{
    arguments.group("Conversation");
    arguments
        .value("--effort", "LEVEL",
            choiceInto<std::string, std::string>(
                flags.effort, {{"low", "low"}, {"high", "high"}, {"max", "max"}, {"none", "none"}}),
            "how much to think: low, high, max, or none for no note")
        .byDefault("low");
    arguments.flag("--think", flags.thinking, "think before answering").byDefault("yes");
    arguments
        .flag(
            "--no-think", [&flags] { flags.thinking = false; }, "answer at once")
        .alias("--no-thinking");
    arguments.flag("--raw", flags.raw, "the text is the prompt, without a chat format");
    arguments.flag("--template", flags.useTemplate, "use chat.json although the model has a format of its own");
}

Result<std::shared_ptr<const ChatFormat>> openChatFormat(
    const Container& container, const ChatFlags& flags, Output& output)
{
    if (flags.raw && flags.useTemplate)
        return Error{ErrorCode::InvalidArgument, "", "--raw and --template exclude each other"};
    WASTE_TRY(auto tokenizer, Tokenizer::open(container.path(), container.info().endOfTextId));
    const auto choice = flags.raw ? ChatFormat::Choice::Raw
        : flags.useTemplate       ? ChatFormat::Choice::Template
                                  : ChatFormat::Choice::Automatic;
    WASTE_TRY(auto format, ChatFormat::open(container.path(), std::move(tokenizer), choice));
    for (const std::string& warning : format->warnings())
        output.warning(warning);
    if (format->kind() == ChatFormat::Kind::Raw && !flags.raw)
        output.warning("this model has no chat format: it continues the text as it is");
    return format;
}

} // namespace waste::cli
