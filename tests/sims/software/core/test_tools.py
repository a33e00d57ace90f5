"""The paper's worlds have its tools under their names and arguments: a line of the table each."""

import pytest
from software_rig import CORE_WORLDS

from sims.world_type import WORLD_TYPES

READ, WRITE = "read", "write"
TOOLS = """
automation            write  turn_on_lights
automation            write  turn_off_lights
automation            write  set_thermostat              temperature
automation            write  lock_door
automation            write  unlock_door
automation            write  activate_alarm
automation            write  deactivate_alarm
automation            read   print_system_status
communication         write  send_message                sender recipient content priority [timestamp]
communication         write  delete_message              sender recipient
communication         write  forward_message             original_sender new_recipient timestamp forwarded_by
communication         write  schedule_message            sender recipient content send_time [priority]
communication         read   print_messages              recipient priority
computations          write  add_numbers                 a b
computations          write  subtract_numbers            a b
computations          write  multiply_numbers            a b
computations          write  divide_numbers              a b
computations          write  power                       base exponent
computations          write  calculate_average           numbers
configurations        write  set_config                  key value [category] [timestamp]
configurations        write  update_config               key new_value [category] [timestamp]
configurations        write  delete_config               key
configurations        read   print_config                key
crud                  write  add_user                    name age [email]
crud                  write  update_user_email           user_id email
crud                  write  delete_user                 user_id
crud                  read   list_users
crud                  read   verify_user_field           user_id field expected_value
crud                  read   generate_timestamp
desktop_manager       write  open_application            app_name
desktop_manager       write  close_application           app_name
desktop_manager       write  perform_action              app_name action
desktop_manager       read   print_open_applications
desktop_manager       read   print_application_history
desktop_manager       read   print_application_actions   app_name
events_scheduler      write  schedule_event              event_name event_time
events_scheduler      write  cancel_event                event_name
events_scheduler      write  reschedule_event            event_name new_time
events_scheduler      write  schedule_recurring_event    event_name interval_minutes
events_scheduler      read   list_events
events_scheduler      read   get_event_time              event_name
events_scheduler      read   time_until_event            event_name
file_management       write  create_file                 filename
file_management       write  delete_file                 filename
file_management       write  write_file                  filename content
file_management       write  append_to_file              filename content
file_management       write  rename_file                 old_name new_name
file_management       write  copy_file                   source destination
file_management       write  move_file                   source destination
file_management       write  clear_file                  filename
file_management       read   read_file                   filename
file_management       read   list_files
file_management       read   file_exists                 filename
file_management       read   get_file_size               filename
file_management       read   count_words                 filename
file_management       read   search_in_file              filename keyword
legal_compliance      read   check_compliance            doc_name statement
legal_compliance      read   generate_audit_report       doc_name
legal_compliance      write  flag_violation              issue
legal_compliance      write  approve_policy              statement
legal_compliance      write  request_consent             user_id reason
legal_compliance      write  enforce_compliance          doc_name issue
navigation            write  move_up                     [steps]
navigation            write  move_down                   [steps]
navigation            write  move_left                   [steps]
navigation            write  move_right                  [steps]
navigation            write  reset_position
navigation            read   get_player_position
navigation            read   is_within_bounds            position
transactions          write  create_account              account_id
transactions          write  deposit                     account_id amount
transactions          write  withdraw                    account_id amount
transactions          write  transfer                    sender_id receiver_id amount
transactions          write  apply_interest              account_id rate
transactions          write  close_account               account_id
transactions          write  charge_fee                  account_id amount
transactions          write  refund                      account_id amount
transactions          read   check_balance               account_id
transactions          read   get_transaction_history     account_id
validation            read   validate_email              email
validation            read   validate_username           username
validation            read   check_password_hash         password hashed_password
validation            read   verify_otp                  input_otp correct_otp
validation            read   hash_password               password
validation            read   generate_otp                [length]
web_browsing          write  move_to_url                 file_name
web_browsing          write  go_back
web_browsing          read   get_page_source
web_browsing          read   find_text_in_page           text
web_browsing          read   get_current_url
web_browsing          read   view_browsing_history
writing               write  add_article                 [article]
writing               write  add_noun                    [noun]
writing               write  add_verb                    [verb]
writing               write  add_adjective               [adjective]
writing               write  add_preposition             [preposition]
writing               write  complete_sentence
"""
LINES = [line.split() for line in TOOLS.splitlines() if line]


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line[0]}-{line[2]}")
def test_a_tool_has_its_arguments_and_effect(line: list[str]) -> None:
    world, effect, name, *arguments = line
    tool = WORLD_TYPES[f"core:{world}"].device.by_name[name]
    parameters = tool.parameters()
    required = parameters["required"]
    assert [one if one in required else f"[{one}]" for one in parameters["properties"]] == arguments
    assert tool.effect.value == effect


def test_there_is_no_other_tool_or_world() -> None:
    listed = {(f"core:{line[0]}", line[2]) for line in LINES}
    assert listed == {(world, tool.name) for world in CORE_WORLDS for tool in WORLD_TYPES[world].device.tools}
    assert (len(CORE_WORLDS), len(LINES)) == (14, 97)
    for name in CORE_WORLDS:
        assert WORLD_TYPES[name].name == WORLD_TYPES[name].device.name == name
