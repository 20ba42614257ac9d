#include "cli/command.h"

#include <algorithm>
#include <array>

namespace waste::cli {

std::span<const CommandEntry> commandTable()
{
    static constexpr std::array table = {
        CommandEntry{"run", "generate once from a prompt", makeRunCommand},
        CommandEntry{"chat", "talk to a model", makeChatCommand},
        CommandEntry{"session", "list, show or delete saved conversations", makeSessionCommand},
        CommandEntry{"convert", "make a model of a published checkpoint", makeConvertCommand},
        CommandEntry{"verify", "read a whole model and list what is damaged", makeVerifyCommand},
        CommandEntry{"info", "facts about a model, without loading it", makeInfoCommand},
        CommandEntry{"plan", "how a RAM budget would be divided", makePlanCommand},
        CommandEntry{"bench", "measure a model on this machine", makeBenchCommand},
        CommandEntry{"diskbench", "measure a drive, and predict models on it", makeDiskBenchCommand},
        CommandEntry{"doctor", "what this machine is good for, in plain words", makeDoctorCommand},
        CommandEntry{"tokenize", "text to token ids", makeTokenizeCommand},
        CommandEntry{"detokenize", "token ids to text", makeDetokenizeCommand},
        CommandEntry{"prompt", "what a model gets to read for a chat request", makePromptCommand},
        CommandEntry{"reply", "what is understood of the tokens of a reply", makeReplyCommand},
        CommandEntry{"eval", "next-token probabilities, logits, perplexity", makeEvalCommand},
        CommandEntry{"completion", "completion script for bash, zsh or fish", makeCompletionCommand},
        CommandEntry{"version", "version and what this machine runs it with", makeVersionCommand},
        CommandEntry{"help", "this list, or help for one command", makeHelpCommand},
    };
    return table;
}

const CommandEntry* findCommand(std::string_view name)
{
    const auto table = commandTable();
    const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
    return found == table.end() ? nullptr : &*found;
}

} // namespace waste::cli
