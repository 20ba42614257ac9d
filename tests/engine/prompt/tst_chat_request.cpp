// From an OpenAI chat request to what is rendered: which fields count, what they default to, and what is
// refused before anything is rendered.

#include "prompt/chat_request.h"
#include "prompt/thinking_choice.h"
#include "waste/chat_format.h"

#include <QTest>

using namespace waste;

namespace {

std::shared_ptr<const ChatFormat> format()
{
    static const auto opened =
        *ChatFormat::open(WASTE_K3_MINI_CHECKPOINT, *Tokenizer::open(WASTE_K3_MINI_CHECKPOINT, 2818));
    return opened;
}

std::string withMessage(const QByteArray& fields)
{
    return "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]"
        + (fields.isEmpty() ? "" : ", " + fields.toStdString()) + '}';
}

std::string textOf(const Prompt& prompt)
{
    std::string text;
    for (const Segment& segment : prompt.segments)
        text += segment.text;
    return text;
}

const QByteArray kTool = R"("tools": [{"type": "function", "function": {"name": "f"}}])";

} // namespace

class TestChatRequest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void choosesThinkingAndEffort_data()
    {
        QTest::addColumn<QByteArray>("fields");
        QTest::addColumn<bool>("thinking"); // expected
        QTest::addColumn<QString>("effort");
        const auto row = [](const QByteArray& fields, bool thinking, const char* effort) {
            QTest::newRow(fields.constData()) << fields << thinking << effort;
        };
        row("", true, "low");
        row(R"("thinking": null, "reasoning_effort": null)", true, "low");
        row(R"("thinking": true)", true, "low");
        row(R"("thinking": false)", false, "");
        row(R"("thinking": {"type": "enabled"})", true, "low");
        row(R"("thinking": {"type": "disabled"})", false, "");
        row(R"("chat_template_kwargs": {"thinking": false})", false, "");
        row(R"("chat_template_kwargs": {"enable_thinking": false})", false, "");
        row(R"("chat_template_kwargs": {"thinking": true, "enable_thinking": false})", true, "low");
        row(R"("thinking": true, "chat_template_kwargs": {"thinking": false})", true, "low");
        for (const auto& [name, effort] : {std::pair("minimal", "low"), {"low", "low"}, {"medium", "high"},
                 {"high", "high"}, {"xhigh", "max"}, {"max", "max"}, {"ultra", "max"}, {"MeDium", "high"}}) {
            row(QByteArray("\"reasoning_effort\": \"") + name + '"', true, effort);
            row(QByteArray("\"reasoning\": {\"effort\": \"") + name + "\"}", true, effort);
        }
        row(R"("thinking_effort": "max")", true, "max");
        row(R"("thinking_effort": "High")", true, "high");
        row(R"("chat_template_kwargs": {"thinking_effort": "high"})", true, "high");
        row(R"("reasoning_effort": "none")", false, "");
        row(R"("reasoning_effort": "off")", false, "");
        row(R"("thinking_effort": "none")", false, "");
        row(R"("reasoning": {"effort": "OFF"})", false, "");
        row(R"("reasoning_effort": "low", "thinking_effort": "max")", true, "low"); // the first present counts
        row(R"("thinking_effort": "max", "reasoning": {"effort": "low"})", true, "max");
        row(R"("thinking": false, "reasoning_effort": "none")", false, "");
    }
    void choosesThinkingAndEffort()
    {
        QFETCH(QByteArray, fields);
        QFETCH(bool, thinking);
        QFETCH(QString, effort);
        const auto prompt = format()->render(withMessage(fields), {});
        QVERIFY2(prompt, prompt ? "" : prompt.error().message.c_str());
        QCOMPARE(prompt->thinking, thinking);
        QCOMPARE(QString::fromStdString(prompt->effort), effort);
        QVERIFY(prompt->startChannel == (thinking ? ReplyChannel::Think : ReplyChannel::Response));
        const std::string note = "thinking_effort=" + effort.toStdString() + "`.";
        QCOMPARE(textOf(*prompt).find(note) != std::string::npos, !effort.isEmpty());
    }

    void defaultsHoldWhereTheRequestSaysNothing()
    {
        const auto thinkingOf = [](const QByteArray& fields, const RenderOptions& options) {
            const auto prompt = format()->render(withMessage(fields), options);
            return std::pair(prompt->thinking, prompt->effort);
        };
        QCOMPARE(thinkingOf("", {.effort = "none"}), std::pair(true, std::string()));
        QCOMPARE(thinkingOf("", {.effort = "max"}), std::pair(true, std::string("max")));
        QCOMPARE(thinkingOf("", {.thinking = false}), std::pair(false, std::string()));
        QCOMPARE(thinkingOf(R"("thinking": true)", {.thinking = false}), std::pair(true, std::string("low")));
        QCOMPARE(thinkingOf(R"("reasoning_effort": "max")", {.thinking = false}), std::pair(true, std::string("max")));
        QVERIFY(!format()->render(withMessage(""), {.effort = "medium"}));
    }

    void refusesRequests_data()
    {
        QTest::addColumn<QByteArray>("request");
        QTest::addColumn<QString>("place");
        const auto whole = [](const QByteArray& request, const char* place) {
            QTest::newRow(request.left(60).constData()) << request << place;
        };
        const auto row = [&](const QByteArray& fields, const char* place) {
            whole(QByteArray::fromStdString(withMessage(fields)), place);
        };
        whole("", "request");
        whole("[", "request");
        whole("1", "request");
        whole("{}", "messages");
        whole("[]", "messages");
        whole(R"({"messages": null})", "messages");
        whole(R"({"messages": "x"})", "messages");
        whole(R"(["x"])", "messages[0]");
        whole(R"([{"role": "user", "content": "x", "tool_calls": []}])", "messages[0].tool_calls");
        whole(R"([{"role": "user", "content": ["x"]}])", "messages[0].content[0]");
        whole(R"([{"role": "user", "content": [{"text": "x"}]}])", "messages[0].content[0]");
        whole(R"([{"role": "user", "content": [{"type": "", "text": "x"}]}])", "messages[0].content[0]");
        whole(R"([{"role": "user", "content": [{"type": "image_url"}]}])", "messages[0].content[0]");
        whole(R"([{"role": "user", "content": [{"type": "image_url", "image_url": ""}]}])", "messages[0].content[0]");
        whole(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ""}}]}])",
            "messages[0].content[0]");
        whole(R"([{"role": "user", "content": [{"type": "image", "image": 1}]}])", "messages[0].content[0]");
        whole(R"([{"role": "system", "tools": [{}]}])", "messages[0].tools[0]");
        whole(
            '[' + QByteArray(R"({"role":"user","content":""},)").repeated(10'000) + R"({"role":"user"}])", "messages");
        row(R"("functions": [])", "functions");
        row(R"("function_call": "auto")", "function_call");
        row(R"("tools": {})", "tools");
        row(R"("tools": [1])", "tools[0]");
        row(R"("tools": [{"type": "function"}])", "tools[0]");
        row(R"("tools": [{"type": "other", "function": {"name": "f"}}])", "tools[0]");
        row(R"("tools": [{"type": "function", "function": {"name": ""}}])", "tools[0]");
        row("\"tools\": [" + QByteArray(R"({"type":"function","function":{"name":"f"}},)").repeated(1024)
                + R"({"type":"function","function":{"name":"f"}}])",
            "tools");
        row(R"("tool_choice": "any")", "tool_choice");
        row(R"("tool_choice": 1)", "tool_choice");
        row(R"("tool_choice": {"type": "function"})", "tool_choice");
        row(kTool + R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})", "tool_choice");
        row(R"("response_format": {"type": "grammar"})", "response_format.type");
        row(R"("thinking": "on")", "thinking");
        row(R"("thinking": {"type": "maybe"})", "thinking");
        row(R"("chat_template_kwargs": [])", "chat_template_kwargs");
        row(R"("chat_template_kwargs": {"thinking": "yes"})", "chat_template_kwargs.thinking");
        row(R"("reasoning": "low")", "reasoning");
        row(R"("reasoning_effort": 1)", "reasoning_effort");
        row(R"("reasoning_effort": "much")", "reasoning_effort");
        row(R"("thinking_effort": "medium")", "thinking_effort");
        row(R"("thinking_effort": "minimal")", "thinking_effort");
        row(R"("chat_template_kwargs": {"thinking_effort": "medium"})", "chat_template_kwargs.thinking_effort");
        row(R"("thinking": false, "reasoning_effort": "high")", "reasoning_effort");
        row(R"("thinking": true, "reasoning": {"effort": "none"})", "reasoning.effort");
    }
    void refusesRequests()
    {
        QFETCH(QByteArray, request);
        QFETCH(QString, place);
        const auto prompt = format()->render(request.toStdString(), {});
        QVERIFY(!prompt);
        QCOMPARE(prompt.error().code, ErrorCode::InvalidArgument);
        const QString message = QString::fromStdString(prompt.error().message);
        QVERIFY2(message.startsWith(place + ": "), qPrintable(message));
    }

    void unknownFieldsAreIgnored()
    {
        QVERIFY(format()->render(withMessage(R"("logit_bias": {"1": 2}, "user": 5, "seed": true)"), {}));
    }

    void aNamedToolIsRequiredAndSaid()
    {
        const auto prompt = format()->render(
            withMessage(kTool + R"(, "tool_choice": {"type": "function", "function": {"name": "f"}})"), {});
        QVERIFY(prompt);
        const std::string text = textOf(*prompt);
        const std::size_t said = text.find("You must call the tool `f` in your next message, and no other.");
        const std::size_t required = text.find("tool_choice=required");
        QVERIFY(said != std::string::npos && required != std::string::npos && said < required);
        QCOMPARE(prompt->declaredTools, std::vector<std::string>{"f"});
    }

    void laterToolsAreDeclaredToo()
    {
        const auto request = ChatRequest::parse(
            R"({"messages": [{"role": "system", "tools": [{"type": "function", "function": {"name": "g"}}]}],
                "tool_choice": {"type": "function", "function": {"name": "g"}}})");
        QVERIFY(request);
        QCOMPARE(*request->namedTool(), std::string("g"));
    }
};

QTEST_GUILESS_MAIN(TestChatRequest)
#include "tst_chat_request.moc"
