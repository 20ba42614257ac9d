#pragma once

#include "prompt/json_text.h"
#include "waste/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// One OpenAI chat request, checked as far as the renderers do not check themselves (spec: server 3.1 and
// 3.2). null counts as absent everywhere. Immutable; the pointers live as long as it does.
class ChatRequest {
public:
    // A request, or only its array of messages. Errors: InvalidArgument with the path of the field.
    static Result<ChatRequest> parse(std::string_view json);

    [[nodiscard]] const JsonValue& root() const { return m_root; }
    [[nodiscard]] const std::vector<JsonValue>& messages() const { return m_root.find("messages")->items; }
    [[nodiscard]] const JsonValue* tools() const { return m_root.find("tools"); } // null: none
    [[nodiscard]] const JsonValue* responseFormat() const { return m_root.find("response_format"); }
    [[nodiscard]] const std::optional<std::string>& toolChoice() const { return m_toolChoice; }
    [[nodiscard]] const std::optional<std::string>& namedTool() const { return m_namedTool; }
    [[nodiscard]] const std::vector<std::string>& declaredTools() const { return m_declaredTools; }

private:
    ChatRequest() = default;
    Status checkMessages();
    Status addTools(const JsonValue& tools, const std::string& place);
    Status readToolChoice();

    JsonValue m_root; // an object
    std::optional<std::string> m_toolChoice; // auto, none, required
    std::optional<std::string> m_namedTool; // then m_toolChoice is required
    std::vector<std::string> m_declaredTools;
};

} // namespace waste
